// The example `life` in its three languages: one life over the death of its host, one head.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import test from "node:test";

import { project, root, script } from "./package.mjs";

const at = (path) => fileURLToPath(new URL(path, root));

/** The path of something that npm does not build. */
function built(path, how) {
  assert.ok(existsSync(at(path)), `${path} is missing: build it with \`${how}\``);
  return at(path);
}

/** The command of each language, up to `begin` or `go-on`. */
const LANGUAGES = {
  Rust: () => [built("target/debug/life", "cargo build -p life")],
  TypeScript: async () => {
    const folder = await project("example-life", "examples/life");
    // In this tree the types of Node are beside the other build tools.
    const config = new URL("tsconfig.json", folder);
    const settings = JSON.parse(await readFile(config, "utf8"));
    settings.compilerOptions.typeRoots = [at("npm/node_modules/@types")];
    await writeFile(config, JSON.stringify(settings));
    await script(folder, "build");
    return [process.execPath, fileURLToPath(new URL("dist/life.js", folder))];
  },
  Python: () => [
    built(
      "target/python/bin/python",
      "python3 -m venv target/python && target/python/bin/pip install -r wasm/python/requirements.txt",
    ),
    at("examples/life/life.py"),
    built("target/guest/wakeful.component.wasm", "cargo xtask run"),
  ],
};

/** What both processes print over a fresh ledger. */
async function live(language) {
  const [program, ...before] = await LANGUAGES[language]();
  const folder = new URL("target/npm/life/", root);
  await mkdir(folder, { recursive: true });
  const ledger = fileURLToPath(new URL(`${language}.ledger`, folder));
  for (const left of [ledger, `${ledger}-wal`, `${ledger}-shm`]) {
    await rm(left, { force: true });
  }
  const [first, second] = ["begin", "go-on"].map((command) =>
    spawnSync(program, [...before, command, ledger], { encoding: "utf8" }),
  );
  assert.match(first.signal ?? `exit ${first.status}`, /^SIG(KILL|ABRT)$/, first.stderr);
  assert.deepEqual([second.status, second.stderr], [0, ""]);
  return [first.stdout, second.stdout];
}

/** What the page shows below each command of the example. */
async function shown() {
  const page = await readFile(new URL("examples/README.md", root), "utf8");
  const [, block] = page.match(/```text\n(\$ target\/debug\/life begin [^]*?)```/);
  return block.split(/^\$ .*\n/m).slice(1);
}

for (const language of Object.keys(LANGUAGES)) {
  test(`the life in ${language} outlives its process, and prints each decision and head of the page`, async () => {
    assert.deepEqual(await live(language), await shown());
  });
}

test("the life ends asleep, with a head", async () => {
  const [, end] = await shown();
  assert.match(end, /\n10:00 Sleep \(.*\)\n.*\nhead \d+ [0-9a-f]{64}\n$/);
});
