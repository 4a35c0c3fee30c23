// An agent in Node that lives in a file. Run it twice: the second time it goes on where it was.
import { Scheduler } from "@wakeful/scheduler";
import { LogLedger } from "@wakeful/scheduler/log";

import { openFile } from "./file.mjs";

const ledger = new LogLedger(openFile(process.argv[2] ?? "agent.log"));

// Who executes turns. This one answers at once what a model would say later.
const answers = [];
const provider = {
  startTurn({ run_id, message }) {
    console.log(`turn ${run_id} on "${message.body.text}"`);
    answers.push({ fact: "turn_terminal", run_id, kind: "completed" });
  },
  interject() {},
  yieldTurn() {},
  abortTurn() {},
  release() {},
};
const clock = { now: () => BigInt(Date.now()) * 1_000_000n };

const scheduler = Scheduler.drive({ agent_id: "node-example" }, { ledger, clock, provider });
console.log(`opened at entry ${scheduler.head().seq}`);

const visits = ledger
  .read(0, 100_000)
  .filter((line) => line.includes('"class":"messages"') && line.includes("visit-")).length;
scheduler.propose({
  fact: "message_queued",
  message: {
    id: `visit-${visits + 1}`,
    kind: "operator_prompt",
    origin: { kind: "operator" },
    trust: "trusted_operator",
    body: { type: "text", text: `visit number ${visits + 1}` },
  },
});

// The loop: decide until there is nothing to do, say what the turns brought, and again.
for (;;) {
  for (const { decision } of scheduler.runUntilRest()) {
    if (decision) {
      console.log(`${decision.decision} (${decision.reason})`);
    }
  }
  if (answers.length === 0) {
    break;
  }
  answers.splice(0).forEach((fact) => scheduler.propose(fact));
}
console.log(`at rest at entry ${scheduler.head().seq}`);
ledger.close();
