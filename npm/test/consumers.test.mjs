// Small projects that consume the packed tarball: each comes to the same decision.
import assert from "node:assert/strict";
import test from "node:test";

import { node, project } from "./package.mjs";

/** What a project does with what it imported: an operator writes, and a turn is started. */
const STORY = `
const lines = new MemoryLedger();
const started = [];
const provider = { startTurn: (request) => started.push(request.run_id), interject() {}, yieldTurn() {}, abortTurn() {}, release() {} };
const scheduler = Scheduler.drive({ agent_id: "a" }, { ledger: lines, clock: { now: () => 1_779_872_400_000_000_000n }, provider });
const message = { id: "m1", kind: "operator_prompt", origin: { kind: "operator" }, trust: "trusted_operator", body: { type: "text", text: "look" } };
scheduler.propose({ fact: "message_queued", message });
const decisions = scheduler.runUntilRest().map((report) => report.decision.decision);
export const said = JSON.stringify([decisions, started, scheduler.head()]);
`;

const SAID = '[["StartModelTurn"],["a:run-8"],{"seq":8,"chain":"';

test("in Node the package starts itself", async () => {
  const folder = await project("node-esm", {
    "main.mjs": `import { MemoryLedger, Scheduler } from "@wakeful/scheduler";${STORY}console.log(said);`,
  });
  assert.equal((await node(folder, "main.mjs")).slice(0, SAID.length), SAID);
});

test("the slim entry starts with a module, with bytes, from an address and from a response", async () => {
  const folder = await project("node-slim", {
    "main.mjs": `
import { readFileSync } from "node:fs";
import { init, initSync, MemoryLedger, Scheduler } from "@wakeful/scheduler/slim";
const bytes = readFileSync(new URL(import.meta.resolve("@wakeful/scheduler/core.wasm")));
const wasm = { headers: { "content-type": "application/wasm" } };
const starts = {
  "module at once": () => initSync(new WebAssembly.Module(bytes)),
  "bytes at once": () => initSync(bytes),
  module: async () => init(await WebAssembly.compile(bytes)),
  bytes: () => init(bytes),
  url: () => init(new URL("data:application/wasm;base64," + bytes.toString("base64"))),
  text: () => init("data:application/wasm;base64," + bytes.toString("base64")),
  response: () => init(new Response(bytes, wasm)),
  "promise of a response": () => init(Promise.resolve(new Response(bytes, wasm))),
};
await starts[process.argv[2]]();
${STORY}
console.log(said);`,
  });
  const ways = ["module at once", "bytes at once", "module", "bytes", "url", "text", "response", "promise of a response"];
  for (const way of ways) {
    assert.equal((await node(folder, "main.mjs", way)).slice(0, SAID.length), SAID, way);
  }
});
