// The Node engine of the cross-check. It reads cases as JSON lines on stdin, and answers each with
// its trace, one line per case (answer.mjs).
//
//   node engine.mjs GUEST_FOLDER

import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { answer } from "./answer.mjs";
import { main } from "./serve.mjs";

/** Loads the guest that wasm-bindgen wrote into a folder. */
export async function loadGuest(folder) {
  const guest = await import(pathToFileURL(join(resolve(folder), "wakeful_web.js")).href);
  guest.initSync({ module: await readFile(join(folder, "wakeful_web_bg.wasm")) });
  return guest;
}

async function open(folder) {
  try {
    const guest = await loadGuest(folder);
    return {
      name: `node ${process.version}`,
      answer: (line) => JSON.stringify(answer(guest, line)),
    };
  } catch (error) {
    throw new Error(
      `cannot load the guest from ${folder}: ${error.message}; build it with \`cargo xtask run\``,
    );
  }
}

await main(import.meta.url, open);
