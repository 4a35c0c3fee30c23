// Plays a story or replays a fixture with the guest, and builds the trace that is compared between
// engines. It joins texts of the core without parsing them, because JavaScript would change
// numbers.

import { MemoryLedger } from "../../../npm/src/ledger/memory.mjs";

/** The instant of every replay of a fixture: 2026-01-01T00:00:00Z. */
const FIXTURE_NOW = BigInt(Date.UTC(2026, 0, 1)) * 1_000_000n;

/** The first instant of every agent of a scenario: 2026-05-27T09:00:00Z. */
const SCENARIO_NOW = BigInt(Date.UTC(2026, 4, 27, 9)) * 1_000_000n;

/** The boundary of every explanation in a trace. */
const BOUNDARY = "run_loop_idle";

/**
 * The trace of a case.
 * @param {typeof import("wakeful_web")} guest the initialised module
 * @param {{ case: string } & (
 *   { story: string } | { files: Record<string, string> } | { acts: string[] }
 * )} job
 * @param {(scheduler: import("wakeful_web").Scheduler, lines: string[]) => void} [look]
 *   called after each step, with the lines that the ledger got
 * @returns {string}
 */
export function trace(guest, job, look = () => {}) {
  return `{"case":${JSON.stringify(job.case)},"steps":[${played(guest, job, look).join(",")}]}`;
}

function played(guest, job, look) {
  if ("story" in job) {
    return playStory(guest, job.story, look);
  }
  return "files" in job ? replayFolder(guest, job.files, look) : perform(guest, job.acts, look);
}

function playStory(guest, story, look) {
  const player = new guest.Player(story);
  const recorder = new Recorder();
  let scheduler;
  try {
    const provider = {
      startTurn: (request) => player.startTurn(request),
      interject: () => {},
      yieldTurn: () => {},
      abortTurn: (runId, reason) => player.abortTurn(runId, reason),
      alive: (taskIds) => player.alive(taskIds),
      release: () => player.release(),
    };
    const host = { ledger: recorder.ledger, clock: { now: () => player.now() }, provider };
    scheduler = guest.Scheduler.drive({ agent_id: player.agentId }, host);
    recorder.step('{"do":"open"}', "null", scheduler, look);
    for (;;) {
      const command = player.next(scheduler.nextWake());
      if (command.do === "done") {
        return recorder.steps;
      }
      recorder.step(command.text, outcomeOf(command, scheduler), scheduler, look);
    }
  } finally {
    // JavaScript does not free these: the memory of the guest would grow with each case.
    scheduler?.free();
    player.free();
  }
}

function outcomeOf(command, scheduler) {
  switch (command.do) {
    case "propose":
      return outcome(() => scheduler.proposeText(command.fact));
    case "run":
      return outcome(() => scheduler.runUntilRestText());
    case "set_clock":
      return "null";
    default:
      throw new Error(
        `the player said \`${command.do}\`, which is unknown here: build the guest and play.mjs from the same tree`,
      );
  }
}

function replayFolder(guest, files, look) {
  const recorder = new Recorder();
  const refuse = () => {
    throw new Error("an observer starts nothing");
  };
  const provider = {
    startTurn: refuse,
    interject: refuse,
    yieldTurn: refuse,
    abortTurn: refuse,
    release: refuse,
  };
  const host = { ledger: recorder.ledger, clock: { now: () => FIXTURE_NOW }, provider };
  const scheduler = guest.Scheduler.observe({ agent_id: agentOf(guest, files) }, host);
  try {
    recorder.step(
      '{"do":"replay"}',
      outcome(() => scheduler.replayText(files)),
      scheduler,
      look,
    );
    return recorder.steps;
  } finally {
    scheduler.free();
  }
}

/**
 * Plays the actions of a scenario's host. Its provider accepts every call, and the actions have the
 * results.
 */
function perform(guest, acts, look) {
  const provider = { startTurn() {}, interject() {}, yieldTurn() {}, abortTurn() {}, release() {} };
  let recorder = new Recorder();
  let scheduler;
  let now = SCENARIO_NOW;
  const open = (act) => {
    if (act.fresh) {
      recorder = new Recorder(recorder.steps);
    }
    scheduler?.free();
    const host = { ledger: recorder.ledger, clock: { now: () => now }, provider };
    scheduler =
      act.mode === "drive"
        ? guest.Scheduler.drive(act.options, host)
        : guest.Scheduler.observe(act.options, host);
    return "null";
  };
  const done = (act) => {
    switch (act.do) {
      case "open":
        return open(act);
      case "propose":
        return scheduler.proposeText(act.fact);
      case "step":
        return scheduler.stepText(act.boundary);
      case "run":
        return scheduler.runUntilRestText();
      case "set_clock":
        now = BigInt(act.nanos);
        return "null";
      default:
        throw new Error(
          `a scenario says \`${act.do}\`, which is unknown here: build wakeful and play.mjs from the same tree`,
        );
    }
  };
  try {
    for (const text of acts) {
      const answered = outcome(() => done(JSON.parse(text)));
      recorder.step(text, answered, scheduler, look);
    }
    return recorder.steps;
  } finally {
    scheduler?.free();
  }
}

/** The agent of the folder. If it cannot be read, the replay itself reports why. */
function agentOf(guest, files) {
  try {
    return guest.agentOf(files);
  } catch {
    return "default";
  }
}

/** Collects steps, each with the lines that the ledger got since the step before. */
class Recorder {
  ledger = new MemoryLedger();
  #seen = 0;

  constructor(steps = []) {
    this.steps = steps;
  }

  step(command, outcome, scheduler, look) {
    const entries = this.ledger.lines.slice(this.#seen);
    this.#seen = this.ledger.lines.length;
    const explanation = scheduler.explainText(BOUNDARY);
    this.steps.push(
      `{"command":${command},"outcome":${outcome},"entries":[${entries.join(",")}],"explanation":${explanation}}`,
    );
    look(scheduler, entries);
  }
}

/**
 * The text that a call returns, or the report of an error of the core. Any other error is thrown
 * again.
 */
function outcome(call) {
  try {
    return call();
  } catch (error) {
    if (typeof error?.reportText !== "string") {
      throw error;
    }
    return `{"error":${error.reportText}}`;
  }
}
