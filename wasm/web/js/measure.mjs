// What a full step costs where the web guest runs: in Node, in a page. The same facts, clock and ledger as those of the native bench.

import { MemoryLedger } from "../../../npm/src/ledger/memory.mjs";

/** The length of a message's fact. */
const MESSAGE_BYTES = 300;

/** An agent, and what its host says to it. */
function agent(guest) {
  let now = 1_780_000_000_000_000_000n;
  let run;
  let said = 0;
  const provider = { startTurn: (request) => { run = request.run_id; }, interject() {}, yieldTurn() {}, abortTurn() {}, release() {} };
  const clock = { now: () => (now += 1_000_000n) };
  const scheduler = guest.Scheduler.drive({ agent_id: "bench" }, { ledger: new MemoryLedger(), clock, provider });
  return function round() {
    said += 1;
    scheduler.proposeText(message(`message-${said}`));
    scheduler.runUntilRestText();
    scheduler.proposeText(`{"fact":"turn_terminal","run_id":"${run}","kind":"completed"}`);
    scheduler.runUntilRestText();
  };
}

function message(id) {
  const begin = `{"fact":"message_queued","message":{"id":"${id}","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"`;
  const end = `"}}}`;
  return begin + "What became of it since we spoke? ".repeat(10).slice(0, MESSAGE_BYTES - begin.length - end.length) + end;
}

/** Nanoseconds of a round: of several turns the least. */
export function measure(guest, { first, rounds, turns }) {
  const round = agent(guest);
  for (let done = 0; done < first; done += 1) round();
  let least = Infinity;
  for (let turn = 0; turn < turns; turn += 1) {
    const before = performance.now();
    for (let done = 0; done < rounds; done += 1) round();
    least = Math.min(least, ((performance.now() - before) * 1e6) / rounds);
  }
  return least;
}
