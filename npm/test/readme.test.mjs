// The snippets of npm/README.md run, and print what the page shows.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { node, project, root, script } from "./package.mjs";
import { Served } from "./served.mjs";
import { blocks } from "./snippets.mjs";

test("every snippet has its test", () => {
  assert.deepEqual(Object.keys(blocks), [
    "js",
    "text",
    "js alarm",
    "js worker",
    "js page",
    "js slim",
    "js client",
  ]);
});

test("the first snippet prints the block below it", async () => {
  const folder = await project("readme-node", { "main.mjs": blocks.js });
  assert.equal(await node(folder, "main.mjs"), blocks.text);
});

test("the alarm rings when the scheduler says", async () => {
  const timer = `scheduler.propose({ fact: "timer_created", timer_id: "t", duration_ms: 50 });`;
  const program = `${blocks.js}\n${timer}\nfunction run() { console.log(scheduler.runUntilRest().map((step) => step.decision?.reason).join(" ")); }\n${blocks["js alarm"]}`;
  const folder = await project("readme-alarm", { "main.mjs": program });
  assert.match(await node(folder, "main.mjs"), / TimerTick\n$/);
});

test("the snippet of the client has at most 15 lines, runs a turn and reads its entries", async () => {
  const program = blocks["js client"];
  assert.ok(program.trim().split("\n").length <= 15);
  const served = await Served.start();
  try {
    const folder = await project("readme-client", {
      "main.mjs": program.replace("http://127.0.0.1:7171", served.url),
    });
    const env = { ...process.env, TOKEN: served.token };
    const { status, stdout, stderr } = spawnSync(process.execPath, ["main.mjs"], {
      cwd: fileURLToPath(folder),
      env,
      encoding: "utf8",
    });
    assert.deepEqual([status, stderr], [0, ""]);
    assert.match(stdout, /^ask the model about "look at the build"\n1 control\n2 .*\n/);
    assert.match(stdout, /\n\d+ turns\n/);
  } finally {
    await served.end();
  }
});

test("the first program of docs/start.md is TypeScript that compiles strictly, and decides", async () => {
  const start = await readFile(new URL("docs/start.md", root), "utf8");
  const program = start.match(/^```ts\n([^]*?)^```$/m)?.[1];
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    module: "NodeNext",
    target: "ES2023",
    lib: ["ES2023", "DOM"],
    types: [],
  };
  const folder = await project("start", {
    "package.json": JSON.stringify({ private: true, type: "module", scripts: { build: "tsc" } }),
    "tsconfig.json": JSON.stringify({ compilerOptions, files: ["main.ts"] }),
    "main.ts": program,
  });
  assert.equal(await script(folder, "build"), "");
  assert.equal(await node(folder, "main.js"), "StartModelTurn\n");
});
