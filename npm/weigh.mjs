// Weighs the modules that people download, and fails if one became too large.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

/**
 * The largest sizes, gzipped, in bytes: of the module that pages download, and of the workbench's.
 * docs/decisions/004 and 066 say what keeps them small.
 */
export const MOST_GZIPPED_BYTES = { "core.wasm": 210_000, "the workbench": 350_000 };

/** The module of the workbench, as `cargo xtask run` builds it. */
export const WORKBENCH = new URL("../target/guest/web/wakeful_web_bg.wasm", import.meta.url);

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

/**
 * A line with the size of a file.
 *
 * @throws If it has a largest size and weighs more.
 */
export async function weighed(name, file) {
  const bytes = await readFile(file);
  const gzipped = gzipSync(bytes, { level: 9 }).length;
  const most = MOST_GZIPPED_BYTES[name];
  if (gzipped > most) {
    throw new Error(
      `the module of ${name} (${fileURLToPath(file)}) weighs ${gzipped} bytes gzipped, more than ${most}: find what made it grow, or build it again if it is old`,
    );
  }
  const of = most === undefined ? "" : ` of at most ${kilobytes(most)}`;
  return `${name.padEnd(14)} ${kilobytes(bytes.length)}, gzipped ${kilobytes(gzipped)}${of}`;
}
