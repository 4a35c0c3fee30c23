// An agent in Node over the component, as jco transpiles it. Run it twice: the second run continues
// the first.
import { appendFileSync, fsyncSync, ftruncateSync, openSync, readFileSync } from "node:fs";

import { instantiate } from "./wakeful/wakeful.js";

const [path = "agent.ledger", text = "check the build"] = process.argv.slice(2);

// One line per entry. An empty line ends a batch, so a batch that a crash cut off has no end.
const file = openSync(path, "a+");
const stored = readFileSync(file, "utf8");
const end = stored.lastIndexOf("\n\n");
const batches = stored.slice(0, end < 0 ? 0 : end + 2);
const lines = batches.split("\n").filter((line) => line !== "");
let size = Buffer.byteLength(batches);

const ledger = {
  append(expected, batch) {
    const chain = lines.length === 0 ? expected.chain : JSON.parse(lines.at(-1)).chain;
    if (expected.seq !== BigInt(lines.length) || expected.chain !== chain) {
      throw { payload: { tag: "conflict", val: BigInt(lines.length) } };
    }
    const bytes = Buffer.from(batch.map((line) => `${line}\n`).join("") + "\n");
    try {
      ftruncateSync(file, size); // what an append left that failed
      appendFileSync(file, bytes);
      fsyncSync(file);
    } catch (why) {
      throw { payload: { tag: "failed", val: why.message } };
    }
    size += bytes.length;
    lines.push(...batch);
  },
  read: (after, limit) => lines.slice(Number(after), Number(after) + limit),
  loadSnapshot: () => undefined, // this host keeps none
  storeSnapshot() {},
};

// The provider starts turns. This one answers at once, in place of a model.
const answers = [];
const provider = {
  startTurn(request) {
    const { run_id, message } = JSON.parse(request);
    console.log(`turn ${run_id} on "${message.body.text}"`);
    answers.push({ fact: "turn_terminal", run_id, kind: "completed" });
  },
  interject() {},
  yieldTurn() {},
  abortTurn() {},
  alive: () => [],
  release() {},
};
const clock = { now: () => BigInt(Date.now()) * 1_000_000n };

// jco asks for three core modules, each by its name.
const load = (name) =>
  new WebAssembly.Module(readFileSync(new URL(`wakeful/${name}`, import.meta.url)));
const { agent } = instantiate(load, {
  "wakeful:scheduler/ledger": ledger,
  "wakeful:scheduler/clock": clock,
  "wakeful:scheduler/provider": provider,
});

const head = JSON.parse(agent.open(JSON.stringify({ agent_id: "ada" }), "drive"));
console.log(`opened at entry ${head.seq}`);
const message = {
  id: `said-after-${head.seq}`,
  kind: "operator_prompt",
  origin: { kind: "operator" },
  trust: "trusted_operator",
  body: { type: "text", text },
};
agent.propose(JSON.stringify({ fact: "message_queued", message }));

// The loop: decide until the agent rests, report the results of the turns, and repeat.
for (;;) {
  for (const { decision } of JSON.parse(agent.runUntilRest())) {
    if (decision) {
      console.log(`${decision.decision} (${decision.reason})`);
    }
  }
  if (answers.length === 0) {
    break;
  }
  answers.splice(0).forEach((fact) => agent.propose(JSON.stringify(fact)));
}
console.log(JSON.parse(agent.explain("run_loop_idle")).sentence);
