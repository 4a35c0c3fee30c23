// Small projects that consume the packed tarball. Each makes the same decision.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { openBrowser } from "./browser.mjs";
import { node, project, root, script, tarball } from "./package.mjs";

/** The program of a project: an operator writes, and a turn starts. */
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
  const ways = [
    "module at once",
    "bytes at once",
    "module",
    "bytes",
    "url",
    "text",
    "response",
    "promise of a response",
  ];
  for (const way of ways) {
    assert.equal((await node(folder, "main.mjs", way)).slice(0, SAID.length), SAID, way);
  }
});

test("the small and the fast guest give the same entries, to the chain", async () => {
  const folder = await project("node-both", {
    "main.mjs": `
import { readFileSync } from "node:fs";
import { initSync, MemoryLedger, Scheduler } from "@wakeful/scheduler/slim";
initSync(readFileSync(new URL(import.meta.resolve("@wakeful/scheduler/" + process.argv[2]))));
${STORY}
console.log(said, lines.lines.join("\\n"));`,
  });
  const small = await node(folder, "main.mjs", "core.wasm");
  assert.equal(small.slice(0, SAID.length), SAID);
  assert.equal(await node(folder, "main.mjs", "core-fast.wasm"), small);
});

/** Every method that only `core-fast.wasm` has, with a call of it. */
const QUESTIONS = {
  whyNot: `scheduler.whyNot("run_loop_idle", "Sleep")`,
  whyNotText: `scheduler.whyNotText("run_loop_idle", "Sleep")`,
  whyNotAt: `scheduler.whyNotAt("run_loop_idle", "Sleep", 3)`,
  whyNotAtText: `scheduler.whyNotAtText("run_loop_idle", "Sleep", 3)`,
  explainAt: `scheduler.explainAt("run_loop_idle", 3)`,
  explainAtText: `scheduler.explainAtText("run_loop_idle", 3)`,
  stateAt: `scheduler.stateAt(3)`,
  stateAtText: `scheduler.stateAtText(3)`,
  summary: `scheduler.summary()`,
  summaryText: `scheduler.summaryText()`,
  importFolder: `fresh().importFolder(FOLDER)`,
  importFolderText: `fresh().importFolderText(FOLDER)`,
  replay: `fresh().replay(FOLDER)`,
  replayText: `fresh().replayText(FOLDER)`,
  "importFolder of a machine": `begun().importFolder(FOLDER, 1_779_872_400_000_000_000n)`,
  "importFolder of the asynchronous loop": `(await asynchronous()).importFolder(FOLDER)`,
  agentOf: `agentOf(FOLDER)`,
};

test("what the small guest leaves out fails with a code, and the fast guest answers it", async () => {
  const fixture = new URL("tests/fixtures/scheduler/agent_waits_for_callback/", root);
  const folder = {};
  for (const entry of await readdir(fixture, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      folder[relative(fileURLToPath(fixture), path)] = await readFile(path, "utf8");
    }
  }
  const calls = Object.entries(QUESTIONS).map(([name, call]) => `"${name}": async () => ${call},`);
  const place = await project("node-questions", {
    "main.mjs": `
import { readFileSync } from "node:fs";
import { agentOf, AsyncScheduler, initSync, Machine, MemoryLedger, Scheduler, WakefulError } from "@wakeful/scheduler/slim";
initSync(readFileSync(new URL(import.meta.resolve("@wakeful/scheduler/" + process.argv[2]))));
${STORY}
const FOLDER = ${JSON.stringify(folder)};
const clock = { now: () => 1_779_872_400_000_000_000n };
const host = () => ({ ledger: new MemoryLedger(), clock, provider });
const fresh = () => Scheduler.observe({ agent_id: "default" }, host());
const begun = () => {
  const machine = new Machine({ agent_id: "default" });
  machine.begin(clock.now());
  machine.committed();
  return machine;
};
const asynchronous = () => AsyncScheduler.observe({ agent_id: "default" }, host());
const before = lines.lines.length;
const told = {};
for (const [name, call] of Object.entries({ ${calls.join("\n")} })) {
  try {
    const answer = await call();
    told[name] = answer === undefined ? "nothing" : "answered";
  } catch (error) {
    told[name] = error instanceof WakefulError ? error.code + ": " + error.message : String(error);
  }
}
// Whatever failed has changed nothing, and the scheduler goes on.
told.after = scheduler.explain("run_loop_idle").decision.decision + (lines.lines.length - before);
console.log(JSON.stringify(told));`,
  });
  const fast = JSON.parse(await node(place, "main.mjs", "core-fast.wasm"));
  const small = JSON.parse(await node(place, "main.mjs", "core.wasm"));
  assert.equal(small.after, fast.after);
  assert.equal(small.after, "Noop0");
  for (const name of Object.keys(QUESTIONS)) {
    assert.equal(fast[name], "answered", name);
    const method = name.replace(/(Text)?( of .*)?$/, "");
    assert.equal(
      small[name],
      `not_in_module: \`${method}\` is not in the small module \`core.wasm\`: ` +
        "load `core-fast.wasm` through `@wakeful/scheduler/slim`",
      name,
    );
  }
  const readme = await readFile(new URL("npm/README.md", root), "utf8");
  for (const name of Object.keys(QUESTIONS)) {
    const method = name.replace(/(Text)?( of .*)?$/, "");
    assert.ok(readme.includes(`\`${method}\``), `npm/README.md does not name ${method}`);
  }
});

test("esbuild bundles the slim entry with the guest as a file, and the bundle runs in Node", async () => {
  const folder = await project("esbuild", {
    "package.json": JSON.stringify({
      private: true,
      type: "module",
      scripts: {
        build:
          "esbuild main.js --bundle --format=esm --platform=neutral --loader:.wasm=file --outdir=dist",
      },
    }),
    "main.js": `
import { init, MemoryLedger, Scheduler } from "@wakeful/scheduler/slim";
import core from "@wakeful/scheduler/core.wasm";
await init(globalThis.readGuest(new URL(core, import.meta.url)));
${STORY}
console.log(said);`,
    // Node cannot fetch files, so it passes the bytes that a page would fetch.
    "run.mjs": `
import { readFileSync } from "node:fs";
globalThis.readGuest = readFileSync;
await import("./dist/main.js");`,
  });
  await script(folder, "build");
  assert.equal((await node(folder, "run.mjs")).slice(0, SAID.length), SAID);
});

test("Vite builds a page over the package as it is, and over the slim entry; both run in a browser", async () => {
  const page = (entry) =>
    `<!doctype html><link rel="icon" href="data:,"><p></p><script type="module" src="${entry}"></script>`;
  const show = `document.querySelector("p").textContent = said;`;
  const folder = await project("vite", {
    "package.json": JSON.stringify({
      private: true,
      type: "module",
      scripts: { build: "vite build" },
    }),
    "vite.config.js": `export default { base: "./", build: { target: "es2023", rolldownOptions: { input: ["index.html", "slim.html"] } } };`,
    "index.html": page("main.js"),
    "slim.html": page("slim.js"),
    "main.js": `import { MemoryLedger, Scheduler } from "@wakeful/scheduler";${STORY}${show}`,
    "slim.js": `import { init, MemoryLedger, Scheduler } from "@wakeful/scheduler/slim";
import core from "@wakeful/scheduler/core.wasm?url";
await init(core);
${STORY}${show}`,
  });
  await script(folder, "build");
  const browser = await openBrowser({ built: new URL("dist/", folder) });
  try {
    for (const path of ["built/", "built/slim.html"]) {
      const tab = await browser.tab(path);
      await tab.waitForFunction(() => document.querySelector("p").textContent !== "");
      assert.equal((await tab.textContent("p")).slice(0, SAID.length), SAID, path);
    }
    assert.deepEqual(browser.troubles, []);
  } finally {
    await browser.close();
  }
  const assets = await readdir(new URL("dist/assets/", folder));
  assert.equal(
    assets.filter((name) => name.endsWith(".wasm")).length,
    1,
    "the guest is one file, and in no script",
  );
});

test("TypeScript sees the types in every way of resolving, and no `any`", async () => {
  const main = `
import { type AsyncHost, AsyncScheduler, type Fact, type Host, MemoryLedger, type Receipt, Scheduler, WakefulError } from "@wakeful/scheduler";
import { init, type WasmSource } from "@wakeful/scheduler/slim";
import core from "@wakeful/scheduler/core.wasm";
import fast from "@wakeful/scheduler/core-fast.wasm";
import { Scheduler as Inline } from "@wakeful/scheduler/inline";
import { LogLedger, type SyncFile } from "@wakeful/scheduler/log";
import { type Heard, type StoredEntry, WakefulClient, WakefulProblem } from "@wakeful/scheduler/client";

declare const host: Host;
declare const slow: AsyncHost;
declare const file: SyncFile;
const fact: Fact = { fact: "timer_created", timer_id: "t", duration_ms: 1000 };
const receipt: Receipt = Scheduler.drive({ agent_id: "a" }, { ...host, ledger: new MemoryLedger() }).propose(fact);
const later: Promise<Receipt> = (await AsyncScheduler.drive({ agent_id: "a" }, { ...slow, ledger: new LogLedger(file) })).propose(fact);
await init(new Uint8Array());
await init(core);
const source: WasmSource = fast;
const same: typeof Scheduler = Inline;
// @ts-expect-error: this fact does not exist.
Scheduler.drive({ agent_id: "a" }, host).propose({ fact: "nothing_happened" });
// @ts-expect-error: an agent id is not a number.
Scheduler.drive({ agent_id: 7 }, host);
// @ts-expect-error: a clock returns a bigint.
const wrong: Host = { ...host, clock: { now: () => 7 } };
const client = new WakefulClient({ url: "http://127.0.0.1:7171", token: "t" });
const ada = client.agent("ada");
const heard: Heard = await ada.say("look", { key: "k", wait: 30, lane: "next" });
if (heard.answer === "ignored") {
  const because: number = heard.because;
}
await ada.put({ turns: "elsewhere", policy: { ...{}, lane_burst: 3 } });
// The facts of the package and of its client are of one type.
await ada.report(fact);
for await (const { run_id, message } of ada.turns({ signal: new AbortController().signal })) {
  await ada.report({ fact: "turn_terminal", run_id, kind: "completed", last_assistant_message: message.id });
}
const entries: AsyncGenerator<StoredEntry, void, undefined> = ada.entries({ after: heard.head, until: "head" });
const hooks = await client.ask("GET /v1/hooks");
const names: string[] = hooks.map((hook) => hook.name);
const summary = await client.ask("GET /v1/agents/{agent}", { path: { agent: "ada" } });
await ada.summary().catch((why) => (why instanceof WakefulProblem && why.status === 404 ? why.place?.line : undefined));
// @ts-expect-error: this fact does not exist.
ada.report({ fact: "nothing_happened" });
// @ts-expect-error: there is no such lane.
ada.say("look", { lane: "fast" });
// @ts-expect-error: there is no such action.
ada.control("pause");
// @ts-expect-error: there is no such route.
client.ask("GET /v1/nothing");
// @ts-expect-error: the route needs the agent.
client.ask("GET /v1/agents/{agent}");
// @ts-expect-error: a delivery has no client.
client.ask("POST /in/{token}", { path: { token: "t" } });
// @ts-expect-error: the address is missing.
new WakefulClient({ token: "t" });
type IsAny<T> = 0 extends 1 & T ? true : false;
const none: [IsAny<typeof receipt>, IsAny<ReturnType<Host["ledger"]["read"]>>, IsAny<typeof WakefulError>, IsAny<typeof core>, IsAny<typeof hooks>, IsAny<typeof summary>] = [false, false, false, false, false, false];
export { entries, later, names, none, same, source, wrong };
`;
  const options = {
    strict: true,
    noEmit: true,
    target: "ES2020",
    lib: ["ES2020", "DOM"],
    types: [],
    skipLibCheck: false,
  };
  const config = (module, moduleResolution) =>
    JSON.stringify({
      compilerOptions: { ...options, module, moduleResolution },
      files: ["main.ts"],
    });
  const folder = await project("typescript", {
    "package.json": JSON.stringify({
      private: true,
      type: "module",
      scripts: { node: "tsc -p node.json", bundler: "tsc -p bundler.json" },
    }),
    "main.ts": main,
    "node.json": config("NodeNext", "NodeNext"),
    "bundler.json": config("ESNext", "Bundler"),
  });
  for (const resolution of ["node", "bundler"]) {
    assert.equal(await script(folder, resolution), "", resolution);
  }
  const types = new URL("node_modules/@wakeful/scheduler/dist/", folder);
  const files = (await readdir(types, { recursive: true })).filter((name) =>
    /\.d\.m?ts$/.test(name),
  );
  assert.ok(files.length > 10);
  for (const name of files) {
    const code = (await readFile(new URL(name, types), "utf8")).replaceAll(
      /\/\*[^]*?\*\/|\/\/.*|"[^"]*"/g,
      "",
    );
    assert.doesNotMatch(code, /\bany\b/, name);
  }
});

test("publint and arethetypeswrong find nothing in the tarball", async () => {
  const folder = await project("lint", {
    "package.json": JSON.stringify({
      private: true,
      type: "module",
      scripts: {
        publint: `publint run ${JSON.stringify(await tarball())} --strict`,
        attw: `attw ${JSON.stringify(await tarball())} --profile esm-only --exclude-entrypoints core.wasm core-fast.wasm --no-emoji --no-color`,
      },
    }),
  });
  assert.match(await script(folder, "publint"), /All good!/);
  const found = await script(folder, "attw");
  for (const entry of [
    "scheduler",
    "scheduler/slim",
    "scheduler/inline",
    "scheduler/client",
    "scheduler/log",
    "scheduler/opfs",
    "scheduler/indexeddb",
    "scheduler/suite",
  ]) {
    assert.ok(found.includes(`"@wakeful/${entry}"`), `${entry} was looked at: ${found}`);
  }
  assert.match(found, /OK \(ESM\)/);
});
