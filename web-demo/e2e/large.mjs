// A large ledger for the tests: an agent that answered many messages, made by the guest itself.
import { readFile } from "node:fs/promises";

import init, { Scheduler } from "../../target/guest/web/wakeful_web.js";
import { MemoryLedger } from "../../npm/src/ledger/memory.mjs";

/** The lines of an agent's ledger of at least `entries` entries. */
export async function largeLedger(entries) {
  const ledger = new MemoryLedger();
  await drive(ledger, () => ledger.lines.length < entries);
  return ledger.lines;
}

/**
 * Drives an agent over a ledger of at least `entries` entries. It gives each line away, and returns
 * the newest snapshot.
 */
export async function largerLedger(entries, take) {
  let [length, snapshot] = [0, null];
  const ledger = {
    append(_, batch) {
      batch.forEach(take);
      length += batch.length;
    },
    // A new ledger is read once, when it is opened.
    read: () => [],
    storeSnapshot: (head, text) => (snapshot = { seq: head.seq, text }),
  };
  await drive(ledger, () => length < entries);
  return snapshot;
}

/** Drives an agent while `goesOn` says so. */
async function drive(ledger, goesOn) {
  await init({
    module_or_path: await readFile(
      new URL("../../target/guest/web/wakeful_web_bg.wasm", import.meta.url),
    ),
  });
  const started = [];
  const nothing = () => {};
  let now = BigInt(Date.UTC(2026, 0, 1)) * 1_000_000n;
  const provider = {
    startTurn: ({ run_id }) => started.push(run_id),
    interject: nothing,
    yieldTurn: nothing,
    abortTurn: nothing,
    release: nothing,
  };
  const scheduler = Scheduler.drive(
    { agent_id: "large" },
    { ledger, clock: { now: () => now }, provider },
  );
  for (let number = 1; goesOn(); number += 1) {
    now += 30_000_000_000n;
    scheduler.propose({
      fact: "message_queued",
      message: {
        id: `m${number}`,
        kind: "operator_prompt",
        origin: { kind: "operator" },
        trust: "trusted_operator",
        body: { type: "text", text: `look at number ${number}` },
      },
    });
    scheduler.runUntilRest();
    while (started.length > 0) {
      now += 5_000_000_000n;
      scheduler.propose({ fact: "turn_terminal", run_id: started.shift(), kind: "completed" });
      scheduler.runUntilRest();
    }
  }
  scheduler.free();
}
