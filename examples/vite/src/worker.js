// The worker: an agent whose ledger is a file of the origin (OPFS), so that it continues after a
// reload.
import { Scheduler } from "@wakeful/scheduler";
import { openOpfsLedger } from "@wakeful/scheduler/opfs";

const ledger = await openOpfsLedger("vite-example", { wait: true });
const answers = [];
const provider = {
  // A real provider would ask a model here. This turn ends at once.
  startTurn: ({ run_id }) => answers.push({ fact: "turn_terminal", run_id, kind: "completed" }),
  interject() {},
  yieldTurn() {},
  abortTurn() {},
  release() {},
};
const clock = { now: () => BigInt(Date.now()) * 1_000_000n };
const scheduler = Scheduler.drive({ agent_id: "vite-example" }, { ledger, clock, provider });

/** Decides until the agent rests, and sends the page each decision. */
function run() {
  do {
    answers.splice(0).forEach((fact) => scheduler.propose(fact));
    for (const { decision } of scheduler.runUntilRest()) {
      if (decision) {
        self.postMessage(`${decision.decision} (${decision.reason})`);
      }
    }
  } while (answers.length > 0);
}

self.addEventListener("message", ({ data }) => {
  const message = {
    id: crypto.randomUUID(),
    kind: "operator_prompt",
    origin: { kind: "operator" },
    trust: "trusted_operator",
  };
  scheduler.propose({
    fact: "message_queued",
    message: { ...message, body: { type: "text", text: data } },
  });
  run();
});

// When the page gets this message, the worker can receive messages.
self.postMessage(`opened at entry ${scheduler.head().seq}`);
run();
