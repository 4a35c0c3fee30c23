// Measures the web guest in Node and in a page, with the facts, clock and ledger of the native
// bench.

import { MemoryLedger } from "../../../npm/src/ledger/memory.mjs";

/** The length of a message's fact. */
const MESSAGE_BYTES = 300;
/** The number of entries in the ledger of a cold opening. */
const COLD_ENTRIES = 1_000;
/** The number of openings per turn. */
const COLD_TIMES = 5;

/** A host over `ledger`, and the facts of a round. */
function agent(guest, ledger) {
  let run;
  let said = 0;
  const provider = {
    startTurn: (request) => {
      run = request.run_id;
    },
    interject() {},
    yieldTurn() {},
    abortTurn() {},
    release() {},
  };
  const scheduler = guest.Scheduler.drive(
    { agent_id: "bench" },
    { ledger, clock: clock(), provider },
  );
  return function round() {
    said += 1;
    scheduler.proposeText(message(`message-${said}`));
    scheduler.runUntilRestText();
    scheduler.proposeText(`{"fact":"turn_terminal","run_id":"${run}","kind":"completed"}`);
    scheduler.runUntilRestText();
  };
}

function clock() {
  let now = 1_780_000_000_000_000_000n;
  return { now: () => (now += 1_000_000n) };
}

function message(id) {
  const begin = `{"fact":"message_queued","message":{"id":"${id}","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"`;
  const end = `"}}}`;
  return (
    begin +
    "What became of it since we spoke? "
      .repeat(10)
      .slice(0, MESSAGE_BYTES - begin.length - end.length) +
    end
  );
}

/**
 * Opens the first entries of a ledger, verifies their chain, and asks for a decision.
 */
function decideCold(guest, ledger) {
  const provider = { startTurn() {}, interject() {}, yieldTurn() {}, abortTurn() {}, release() {} };
  const scheduler = guest.Scheduler.observe(
    { agent_id: "bench" },
    { ledger, clock: clock(), provider },
  );
  scheduler.explainText("run_loop_idle");
  scheduler.free();
}

/**
 * Nanoseconds of a round, of a cold decision after a thousand entries, and of parsing the same
 * JSON. Each is the minimum of several turns.
 */
export function measure(guest, { first, rounds, turns }) {
  const ledger = new MemoryLedger();
  const round = agent(guest, ledger);
  for (let done = 0; done < first; done += 1) round();
  const cold = new MemoryLedger();
  cold.lines = ledger.lines.slice(0, COLD_ENTRIES);
  const least = { round: Infinity, cold: Infinity, parsed: Infinity };
  const time = (name, times, work) => {
    const before = performance.now();
    for (let done = 0; done < times; done += 1) work();
    least[name] = Math.min(least[name], ((performance.now() - before) * 1e6) / times);
  };
  for (let turn = 0; turn < turns; turn += 1) {
    time("round", rounds, round);
    time("cold", COLD_TIMES, () => decideCold(guest, cold));
    time("parsed", COLD_TIMES, () => cold.lines.forEach((line) => JSON.parse(line)));
  }
  return least;
}
