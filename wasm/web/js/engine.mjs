// The Node engine of the cross-check: reads cases as JSON lines on stdin, answers each with its trace, one line per case.
//
//   node engine.mjs GUEST_FOLDER
//
// in:  {"id":1,"case":"heartbeat","story":"<text>"}  or  {"id":1,"case":"..","files":{"agent.json":"<text>",...}}
// out: {"id":1,"trace":"<trace text>"}  or  {"id":1,"failure":"<what is wrong>"}

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

import { trace } from "./play.mjs";

/** Loads the guest that wasm-bindgen wrote into a folder. */
export async function loadGuest(folder) {
  const guest = await import(pathToFileURL(join(resolve(folder), "wakeful_web.js")).href);
  guest.initSync({ module: await readFile(join(folder, "wakeful_web_bg.wasm")) });
  return guest;
}

/** Answers one line. */
export function answer(guest, line) {
  let id = null;
  try {
    const job = JSON.parse(line);
    id = job.id ?? null;
    return { id, trace: trace(guest, readJob(job)) };
  } catch (error) {
    return { id, failure: error instanceof Error ? error.message : String(error) };
  }
}

function readJob(job) {
  if (typeof job.case !== "string") {
    throw new Error("a line needs `case`, a string");
  }
  if ((typeof job.story === "string") === (job.files !== null && typeof job.files === "object")) {
    throw new Error("a line needs exactly one of `story`, a text, and `files`, an object of path to text");
  }
  return job;
}

async function serve(folder) {
  let guest;
  try {
    guest = await loadGuest(folder);
  } catch (error) {
    console.error(`cannot load the guest from ${folder}: ${error.message}\nBuild it with \`cargo xtask run\`.`);
    return 1;
  }
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim() === "") {
      continue;
    }
    if (!process.stdout.write(`${JSON.stringify(answer(guest, line))}\n`)) {
      await once(process.stdout, "drain");
    }
  }
  return 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [folder, ...rest] = process.argv.slice(2);
  if (folder === undefined || rest.length > 0) {
    console.error("usage: node engine.mjs GUEST_FOLDER, the folder that holds wakeful_web.js");
    process.exitCode = 2;
  } else {
    process.exitCode = await serve(folder);
  }
}
