// Stories over the built package: one loop plays them with `Scheduler` and with `AsyncScheduler`,
// so that the two can be compared.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";

import { root } from "./package.mjs";

const dist = new URL("target/npm/package/dist/", root);

/** The package, loaded by Node. */
export const wakeful = await import(new URL("node.js", dist).href);

/**
 * The player of stories, which is not in the package. It only says what a host does, so it may come
 * from another module.
 */
const player = new URL("target/guest/web/", root);
const { Player, initSync } = await import(new URL("wakeful_web.js", player).href);
initSync({ module: await readFile(new URL("wakeful_web_bg.wasm", player)) });

const folder = new URL("tests/fixtures/stories/", root);
const names = (await readdir(folder)).filter((name) => name.endsWith(".json"));

/** Every story, as text by name. */
export const stories = Object.fromEntries(
  await Promise.all(
    names.map(async (name) => [
      name.replace(".json", ""),
      await readFile(new URL(name, folder), "utf8"),
    ]),
  ),
);

/** A provider that carries nothing out. */
export const IDLE = {
  startTurn() {},
  interject() {},
  yieldTurn() {},
  abortTurn() {},
  release() {},
};

/** The two loops: the class, and how it gets the answers of a ledger. */
export const LOOPS = {
  Scheduler: { loop: wakeful.Scheduler, answer: (work) => work() },
  AsyncScheduler: {
    loop: wakeful.AsyncScheduler,
    answer: async (work) => {
      await new Promise((resolve) => setImmediate(resolve));
      return work();
    },
  },
};

/**
 * Plays a story to its end. `call` may replace any call of the host, to let it fail: it gets the
 * part, the name and the original call. A call that throws is repeated; after a conflict, the
 * entries of others are read first. An invalid fact is the outcome of its call.
 */
export async function play({ loop, answer }, story, call = (_part, _name, work) => work()) {
  const player = new Player(story);
  const ledger = new wakeful.MemoryLedger();
  const came = { asked: [], thrown: [], outcomes: [], lines: ledger.lines };
  const ask = (name, what, work = () => {}) => {
    came.asked.push(`${name} ${what}`);
    return call("provider", name, work);
  };
  const host = {
    ledger: {
      append: (expected, batch) =>
        answer(() => call("ledger", "append", () => ledger.append(expected, batch))),
      read: (after, limit) => answer(() => call("ledger", "read", () => ledger.read(after, limit))),
    },
    clock: { now: () => call("clock", "now", () => player.now()) },
    provider: {
      startTurn: (request) => ask("startTurn", request.run_id, () => player.startTurn(request)),
      interject: (runId) => ask("interject", runId),
      yieldTurn: (runId) => ask("yieldTurn", runId),
      abortTurn: (runId, reason) => ask("abortTurn", runId, () => player.abortTurn(runId, reason)),
      release: () => ask("release", "", () => player.release()),
    },
  };
  const insist = async (attempt, again = 3) => {
    try {
      return await attempt();
    } catch (thrown) {
      if (again === 0 || thrown.code === "malformed") {
        throw thrown;
      }
      came.thrown.push(thrown);
      if (thrown.code === "conflict" && scheduler !== undefined) {
        try {
          await scheduler.catchUp();
        } catch (failed) {
          came.thrown.push(failed);
        }
      }
      return insist(attempt, again - 1);
    }
  };
  let scheduler;
  scheduler = await insist(async () => loop.drive({ agent_id: player.agentId }, host));
  const checked = (attempt) =>
    insist(async () => {
      const [state, lines] = [await peek(() => scheduler.stateText()), ledger.lines.length];
      try {
        return await attempt();
      } catch (thrown) {
        if (ledger.lines.length === lines) {
          assert.equal(
            await peek(() => scheduler.stateText()),
            state,
            "a failed call changes nothing",
          );
        }
        throw thrown;
      }
    });
  // Observing is not a call of the story: it must neither fail nor count.
  const peek = async (look) => {
    const through = call;
    call = (_part, _name, work) => work();
    try {
      return await look();
    } finally {
      call = through;
    }
  };
  try {
    for (;;) {
      const command = player.next(await checked(() => scheduler.nextWake()));
      if (command.do === "done") {
        const head = await insist(() => scheduler.headText());
        const state = await insist(() => scheduler.stateText());
        const explanation = await insist(() => scheduler.explainText("run_loop_idle"));
        return { ...came, head, state, explanation };
      }
      if (command.do === "propose") {
        // A story may have an invalid fact; then the error is the outcome.
        const outcome = checked(() => scheduler.propose(command.fact));
        came.outcomes.push(
          await outcome.catch((error) =>
            error.code === "malformed" ? error.reportText : Promise.reject(error),
          ),
        );
      } else if (command.do === "run") {
        came.outcomes.push(await checked(() => scheduler.runUntilRest()));
      }
    }
  } finally {
    await (scheduler.close?.() ?? scheduler.free());
    player.free();
  }
}
