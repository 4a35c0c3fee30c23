// Runs an engine as a program that answers lines. The first line says that it is ready, or why it
// cannot run; then comes one line for each line of input.

import { once } from "node:events";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

/**
 * Runs the program if Node was started with `url`, and does nothing if it is imported.
 * @param {string} url the module's own
 * @param {(folder: string) => Promise<{
 *   name: string,
 *   answer: (line: string) => Promise<string> | string,
 *   close?: () => Promise<void>,
 * }>} open
 *   opens the engine over the folder of the guest
 */
export async function main(url, open) {
  if (url !== pathToFileURL(process.argv[1] ?? "").href) {
    return;
  }
  const [folder, ...rest] = process.argv.slice(2);
  if (folder === undefined || rest.length > 0) {
    console.error("usage: node ENGINE GUEST_FOLDER, the folder that holds wakeful_web.js");
    process.exitCode = 2;
    return;
  }
  let engine;
  try {
    engine = await open(folder);
  } catch (error) {
    await print({ cannot_run: error.message });
    process.exitCode = 1;
    return;
  }
  await print({ ready: engine.name });
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim() !== "") {
      await write(await engine.answer(line));
    }
  }
  await engine.close?.();
}

const print = (value) => write(JSON.stringify(value));

async function write(line) {
  // A trace may be longer than the pipe takes at once.
  if (!process.stdout.write(`${line}\n`)) {
    await once(process.stdout, "drain");
  }
}
