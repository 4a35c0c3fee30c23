// What bundlers make of the packed tarball: each cell of the table in npm/README.md is a test. A
// page and a worker run in Chromium, a program in Node.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { openBrowser } from "./browser.mjs";
import { node, project, root, script } from "./package.mjs";

/** The host of an agent: an operator writes, and a turn starts. */
const agent = (entry) => `
import { MemoryLedger, Scheduler } from "@wakeful/scheduler${entry}";
export function decide(text) {
  const provider = { startTurn() {}, interject() {}, yieldTurn() {}, abortTurn() {}, release() {} };
  const clock = { now: () => BigInt(Date.now()) * 1_000_000n };
  const scheduler = Scheduler.drive({ agent_id: "a" }, { ledger: new MemoryLedger(), provider, clock });
  const message = { id: "m", kind: "operator_prompt", origin: { kind: "operator" }, trust: "trusted_operator", body: { type: "text", text } };
  scheduler.propose({ fact: "message_queued", message });
  return scheduler.runUntilRest().map((step) => step.decision.decision).join();
}
`;

const SAID = "StartModelTurn";

/** The source of each kind of program: what it says goes into the page or to standard output. */
const SOURCES = {
  page: `import { decide } from "./agent.js";
document.body.textContent = decide("look");`,
  worker: `import { decide } from "./agent.js";
postMessage(decide("look"));`,
  program: `import { decide } from "./agent.js";
console.log(decide("look"));`,
};

const html = (path) =>
  `<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="${path}"></script>`;

/** A page that starts a worker whose code is at this place, which the bundler may replace. */
const starter = (place) => `
const worker = new Worker(${place}, { type: "module" });
worker.onmessage = ({ data }) => (document.body.textContent = data);
worker.onerror = (event) => (document.body.textContent = event.message || "the worker does not load");`;

const BESIDE = `new URL("./worker.js", import.meta.url)`;

const NODE_RESOLVE = new URL("npm/node_modules/@rollup/plugin-node-resolve/dist/es/index.js", root);

/** Rollup needs one plugin to find packages at all. */
const rollup = (condition, format, out = "dist/main.js") => ({
  "rollup.config.mjs": `import resolve from ${JSON.stringify(NODE_RESOLVE.href)};
export default { plugins: [resolve({ exportConditions: ["${condition}"] })], external: [/^node:/] };`,
  build: `rollup -c -i main.js -f ${format} --file ${out}`,
  out,
});

const WORKER_AS_ES = `worker: { format: "es" }`;

/**
 * How each bundler builds each kind of program with its defaults: its command, files beside the
 * sources, and the file that comes out. `index` builds `index.html`, and `place` is where a page
 * finds its worker.
 */
const BUNDLERS = {
  "Vite 8": {
    page: { build: "vite build --base ./", index: true },
    worker: { build: "vite build --base ./", index: true, place: BESIDE },
  },
  "webpack 5": {
    page: { build: "webpack --mode production --entry ./main.js" },
    worker: { build: "webpack --mode production --entry ./main.js", place: BESIDE },
    "Node, ESM": {
      build: "webpack",
      out: "dist/main.mjs",
      "webpack.config.mjs": `export default { mode: "production", target: "node", entry: "./main.js", experiments: { outputModule: true }, output: { module: true, filename: "main.mjs" } };`,
    },
    "Node, CommonJS": {
      build: "webpack --mode production --target node --entry ./main.js --output-filename main.cjs",
      out: "dist/main.cjs",
    },
  },
  "Rollup 4": {
    page: rollup("browser", "es"),
    worker: { ...rollup("browser", "es"), place: `"dist/main.js"` },
    "Node, ESM": rollup("node", "es"),
    "Node, CommonJS": rollup("node", "cjs", "dist/main.cjs"),
  },
  esbuild: {
    page: { build: "esbuild main.js --bundle --format=esm --outdir=dist" },
    worker: {
      build: "esbuild main.js --bundle --format=esm --outdir=dist",
      place: `"dist/main.js"`,
    },
    "Node, ESM": { build: "esbuild main.js --bundle --platform=node --format=esm --outdir=dist" },
    "Node, CommonJS": {
      build: "esbuild main.js --bundle --platform=node --format=cjs --outfile=dist/main.cjs",
      out: "dist/main.cjs",
    },
  },
  "Parcel 2": {
    page: { build: "parcel build index.html --no-cache --public-url ./", index: true },
    worker: {
      build: "parcel build index.html --no-cache --public-url ./",
      index: true,
      place: BESIDE,
    },
  },
  Bun: {
    page: { build: "bun build main.js --outdir dist" },
    worker: { build: "bun build main.js --outdir dist", place: `"dist/main.js"` },
    "Node, ESM": { build: "bun build main.js --target node --outdir dist" },
    "Node, CommonJS": {
      build: "bun build main.js --target node --format cjs --outfile dist/main.cjs",
      out: "dist/main.cjs",
    },
    executable: { build: "bun build main.js --compile --outfile dist/main", out: "dist/main" },
  },
};

/** Builds a program and runs it without the package. Returns what it said, and what went wrong. */
async function ran(name, kind, how, entry, line) {
  const { build, index = false, out = "dist/main.js", place, ...files } = how;
  const isPage = kind === "page" || kind === "worker";
  const source = SOURCES[isPage ? kind : "program"];
  const isBeside = place === BESIDE;
  const folder = await project(name, {
    "package.json": JSON.stringify({ private: true, type: "module", scripts: { build } }),
    ...files,
    ...(line === undefined ? {} : { "vite.config.js": `export default { ${line} };` }),
    "agent.js": agent(entry),
    "main.js": isBeside ? starter(place) : source,
    "worker.js": source,
    "starter.js": place === undefined ? "" : starter(place),
    "index.html": html(index ? "main.js" : place === undefined || isBeside ? out : "starter.js"),
  });
  try {
    await script(folder, "build");
  } catch (why) {
    return { wrong: `${why.stdout}${why.stderr}` };
  }
  // What is bundled needs no package beside it.
  await rm(new URL("node_modules", folder), { recursive: true });
  if (!isPage) {
    const [program, ...args] = kind === "executable" ? [out] : [process.execPath, out];
    const ran = promisify(execFile)(fileURLToPath(new URL(program, folder)), args, {
      cwd: folder,
    });
    return ran.then(
      ({ stdout }) => ({ said: stdout.trim() }),
      (why) => ({ wrong: why.stderr }),
    );
  }
  return shown({ built: index ? new URL("dist/", folder) : folder }, "built/");
}

/** What a page shows. */
async function shown(folders, path, headers) {
  const browser = await openBrowser(folders, headers);
  try {
    const tab = await browser.tab(path);
    const isDone = () => document.body.textContent.trim() !== "";
    const hasTrouble = () => browser.troubles.some((trouble) => trouble.startsWith("page: "));
    for (let left = 100; left > 0 && !(await tab.evaluate(isDone)) && !hasTrouble(); left -= 1) {
      await tab.waitForTimeout(50);
    }
    return { said: await tab.textContent("body"), wrong: browser.troubles.join("\n") };
  } finally {
    await browser.close();
  }
}

const readme = await readFile(new URL("npm/README.md", root), "utf8");

/** The cells of the table of bundlers in the page: by bundler, then by kind of program. */
const table = (() => {
  const rows = readme
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const first = rows.findIndex(([name]) => name === "bundler");
  const kinds = rows[first].slice(1);
  const below = rows.slice(first + 2, first + 2 + Object.keys(BUNDLERS).length);
  return Object.fromEntries(
    below.map(([name, ...cells]) => [
      name,
      Object.fromEntries(kinds.map((kind, index) => [kind, cells[index]])),
    ]),
  );
})();

test("the table has every bundler and kind of program that is built here, and no other", () => {
  const built = Object.entries(table).map(([name, cells]) => [
    name,
    Object.keys(cells).filter((kind) => cells[kind] !== "–"),
  ]);
  const here = Object.entries(BUNDLERS).map(([name, kinds]) => [name, Object.keys(kinds)]);
  assert.deepEqual(built, here);
});

for (const [bundler, kinds] of Object.entries(BUNDLERS)) {
  for (const [kind, how] of Object.entries(kinds)) {
    const cell = table[bundler]?.[kind];
    const name = (entry) => `bundle-${bundler}-${kind}${entry}`.toLowerCase().replace(/\W+/g, "-");

    test(`${bundler}, ${kind}: ${cell}`, async () => {
      const plain = await ran(name(""), kind, how, "");
      if (cell === "as it is") {
        assert.deepEqual(plain, {
          said: SAID,
          ...(plain.wrong === undefined ? {} : { wrong: "" }),
        });
        return;
      }
      assert.notEqual(plain.said, SAID, "the plain entry works: say so in the table");
      if (cell === `\`${WORKER_AS_ES}\``) {
        // The bundler itself says what to change.
        assert.match(plain.wrong, /iife[^]*Use the "es" output format/);
        const mended = await ran(name(" es"), kind, how, "", WORKER_AS_ES);
        assert.equal(mended.said, SAID, mended.wrong);
        return;
      }
      assert.equal(cell, "`/inline`");
      assert.match(plain.wrong, /import \{ Scheduler \} from \\?"@wakeful\/scheduler\/inline/);
    });

    test(`${bundler}, ${kind}: the inline entry works`, async () => {
      const inline = await ran(name(" inline"), kind, how, "/inline");
      assert.equal(inline.said, SAID, inline.wrong);
    });
  }
}

for (const entry of ["index", "inline"]) {
  const page = {
    "index.html": `<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="main.js"></script>`,
    "main.js": `import { decide } from "./agent.js";\ndocument.body.textContent = decide("look");`,
  };
  const path = entry === "inline" ? "/package/dist/inline.js" : "/package/dist/browser.js";
  test(`a page with a policy for its content: ${entry}`, async () => {
    const agentHere = agent("").replace("@wakeful/scheduler", path);
    const folder = await project(`csp-${entry}`, { ...page, "agent.js": agentHere });
    const under = (policy) =>
      shown({ built: folder }, "built/", { "content-security-policy": policy });
    const strict = `default-src 'self'; img-src data:`;
    const allowed = await under(`${strict}; script-src 'self' 'wasm-unsafe-eval'`);
    assert.deepEqual(allowed, { said: SAID, wrong: "" });
    const refused = await under(strict);
    assert.match(refused.wrong, /must allow `script-src 'wasm-unsafe-eval'`/);
  });
}
