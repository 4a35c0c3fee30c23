// An agent in Node whose ledger is a file. Run it twice: the second run continues the first.
import { Scheduler } from "@wakeful/scheduler";
import { LogLedger } from "@wakeful/scheduler/log";

import { openFile } from "./file.mjs";

const ledger = new LogLedger(openFile(process.argv[2] ?? "agent.log"));

// The provider executes turns. This one answers at once, in place of a model.
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

// The loop: decide until the agent rests, report the results of the turns, and repeat.
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
