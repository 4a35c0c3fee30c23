// Builds the package into target/npm: stages the guest, compiles the sources, packs the tarball,
// and prints what a user downloads.
//
// node npm/build.mjs
import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { weighed, WORKBENCH } from "./weigh.mjs";

const here = new URL("./", import.meta.url);
const root = new URL("../", here);
const guest = new URL("target/guest/npm/", root);
const fast = new URL("target/guest/npm-fast/", root);
const stage = new URL("target/npm/stage/guest/", root);
const clientStage = new URL("target/npm/stage/client/", root);
const made = new URL("target/npm/package/", root);

/**
 * The guest's declarations for users: starting the guest belongs to `slim`, and Rust's `# Errors`
 * become TSDoc's `@throws`.
 */
function declarations(text) {
  const start = text.indexOf("export type InitInput");
  if (start < 0) {
    throw new Error("wasm-bindgen's declarations changed: `InitInput` is gone");
  }
  const own = `/** Starts the guest; nothing else may be used before. */
export default function init(input: { module_or_path: unknown }): Promise<unknown>;

/** Starts the guest synchronously; call it first. */
export function initSync(input: { module: unknown }): unknown;
`;
  return (
    (text.slice(0, start) + own)
      // Older targets do not have this symbol; `free` does the same.
      .replaceAll(/^ +\[Symbol\.dispose\]\(\): void;\n/gm, "")
      .replaceAll(/# Errors\n( +\* |\s*\* )/g, "@throws ")
      .replaceAll('from "./payloads.js"', 'from "../payloads.js"')
  );
}

const CORE_TEXT = `/** The small guest in base64. */
declare const text: string;
export default text;
`;

/** What wasm-bindgen throws if its own checks fail: a plain `Error`. */
const THROWS = "throw new Error(getStringFromWasm0(arg0, arg1));";

/** The same as an error of the package: only a host's mistake leads to it. */
const MISUSED = `
function misused(said) {
    const what = said === "null pointer passed to rust"
        ? "this object was freed: open the ledger again"
        : \`\${said}: call it again after the call that is running\`;
    const error = Object.assign(new Error(what), { code: "misuse" });
    error.name = "WakefulError";
    error.reportText = JSON.stringify({ code: error.code, message: what });
    return error;
}
`;

/** The glue, which throws errors of the package only. */
function glue(code) {
  if (code.split(THROWS).length !== 2) {
    throw new Error("wasm-bindgen's glue changed: it does not throw its own errors in one place");
  }
  return code.replace(THROWS, "throw misused(getStringFromWasm0(arg0, arg1));") + MISUSED;
}

async function stageGuest() {
  await rm(new URL("target/npm/", root), { recursive: true, force: true });
  await mkdir(stage, { recursive: true });
  await mkdir(new URL("dist/guest/", made), { recursive: true });
  const types = declarations(await readFile(new URL("wakeful_web.d.ts", guest), "utf8"));
  const fromBindgen = await readFile(new URL("wakeful_web.js", guest), "utf8");
  const code = glue(fromBindgen);
  const text = (await readFile(new URL("wakeful_web_bg.wasm", guest))).toString("base64");
  for (const folder of [stage, new URL("dist/guest/", made)]) {
    await writeFile(new URL("wakeful_web.d.ts", folder), types);
    await writeFile(new URL("wakeful_web.js", folder), code);
    await writeFile(new URL("core-text.js", folder), `export default "${text}";\n`);
    await writeFile(new URL("core-text.d.ts", folder), CORE_TEXT);
  }
  // Without it the compiler takes the staged declarations for CommonJS.
  await writeFile(new URL("package.json", stage), '{"type":"module"}\n');
  // Both modules use the same glue code, so both must fit it.
  if (fromBindgen !== (await readFile(new URL("wakeful_web.js", fast), "utf8"))) {
    throw new Error(
      "the small and the fast module have different glue: build both from the same sources",
    );
  }
  await cp(new URL("wakeful_web_bg.wasm", guest), new URL("core.wasm", made));
  await cp(new URL("wakeful_web_bg.wasm", fast), new URL("core-fast.wasm", made));
}

/** What the client takes of the module below. */
const BLAKE3_TYPES = `/** BLAKE3, which the chain of a ledger is made with. */
export declare const blake3: {
  create(): { update(bytes: Uint8Array): unknown; digest(): Uint8Array };
};
`;

/** The one hash that the client needs, with its licence, so that the package has no dependency. */
async function stageHash() {
  const licence = await readFile(new URL("node_modules/@noble/hashes/LICENSE", here), "utf8");
  const code = await build({
    stdin: {
      contents: 'export { blake3 } from "@noble/hashes/blake3.js";',
      resolveDir: fileURLToPath(here),
    },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    banner: { js: `/*! @noble/hashes\n\n${licence.trim()}\n*/` },
    write: false,
  });
  for (const folder of [clientStage, new URL("dist/client/", made)]) {
    await mkdir(folder, { recursive: true });
    await writeFile(new URL("blake3.js", folder), code.outputFiles[0].contents);
    await writeFile(new URL("blake3.d.ts", folder), BLAKE3_TYPES);
  }
}

function compile() {
  execFileSync(
    process.execPath,
    [fileURLToPath(new URL("node_modules/typescript/bin/tsc", here)), "-p", fileURLToPath(here)],
    {
      stdio: "inherit",
    },
  );
}

async function pack() {
  const {
    devDependencies: _,
    scripts: __,
    ...published
  } = JSON.parse(await readFile(new URL("package.json", here), "utf8"));
  await writeFile(new URL("package.json", made), `${JSON.stringify(published, null, 2)}\n`);
  // The compiler does not copy declarations that it did not make.
  for (const name of ["payloads.d.ts", "core-module.d.ts", "client/api.d.ts"]) {
    await cp(new URL(`src/${name}`, here), new URL(`dist/${name}`, made));
  }
  // For bundlers that do not read `exports`, as `main` in package.json is.
  await writeFile(new URL("inline.js", made), 'export * from "./dist/inline.js";\n');
  await cp(new URL("README.md", here), new URL("README.md", made));
  await cp(new URL("LICENSE", root), new URL("LICENSE", made));
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--pack-destination", ".."], {
      cwd: made,
      encoding: "utf8",
    }),
  );
  return packed;
}

async function sizes(packed) {
  console.log(await weighed("core.wasm", new URL("core.wasm", made)));
  console.log(await weighed("core-fast.wasm", new URL("core-fast.wasm", made)));
  console.log(await weighed("its glue", new URL("dist/guest/wakeful_web.js", made)));
  // The workbench's module is another build, which weighs it too.
  const isBuilt = await stat(WORKBENCH).catch(() => undefined);
  console.log(
    isBuilt
      ? await weighed("the workbench", WORKBENCH)
      : `${"the workbench".padEnd(14)} is not built; \`cargo xtask serve\` builds and weighs it`,
  );
  const { size } = await stat(new URL(`target/npm/${packed.filename}`, root));
  const kilobytes = (size / 1000).toFixed(1);
  console.log(
    `${"the tarball".padEnd(14)} ${kilobytes} kB, ${packed.entryCount} files: target/npm/${packed.filename}`,
  );
}

await stageGuest();
await stageHash();
compile();
await sizes(await pack());
