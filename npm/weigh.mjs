// Weighs the modules that people download, and fails if one became too large.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

/**
 * The largest sizes, gzipped, in bytes: of the module that pages download, and of the workbench's.
 * docs/decisions/004 and 066 say what keeps them small.
 */
export const MOST_GZIPPED_BYTES = { "core.wasm": 210_000, "the workbench": 350_000 };

/** The page that names the sizes of the modules, each in a sentence that begins like this. */
const PAGE = new URL("../docs/performance.md", import.meta.url);
const SENTENCES = {
  "core.wasm": "`core.wasm`, which pages download, has ",
  "core-fast.wasm": "`core-fast.wasm`, which Node uses, has ",
  "the workbench": "The workbench's module has ",
};

/**
 * The maximum relative error of a size on the page. A module contains paths of the machine, so two
 * machines make modules of slightly different sizes.
 */
const TOLERANCE = 0.01;

/** The module of the workbench, as `cargo xtask run` builds it. */
export const WORKBENCH = new URL("../target/guest/web/wakeful_web_bg.wasm", import.meta.url);

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

/**
 * A line with the size of a file.
 *
 * @throws If it has a largest size and weighs more, or if the page says something else.
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
  if (name in SENTENCES) {
    const page = await readFile(PAGE, "utf8");
    const said = page.split(SENTENCES[name])[1]?.match(/^([\d.]+) kB, ([\d.]+) kB gzipped/);
    const isNear = (text, size) => Math.abs(Number(text) * 1000 - size) <= TOLERANCE * size;
    if (!said || !isNear(said[1], bytes.length) || !isNear(said[2], gzipped)) {
      const now = `${kilobytes(bytes.length)}, ${kilobytes(gzipped)} gzipped`;
      throw new Error(`docs/performance.md must say: ${SENTENCES[name]}${now}`);
    }
  }
  const of = most === undefined ? "" : ` of at most ${kilobytes(most)}`;
  return `${name.padEnd(14)} ${kilobytes(bytes.length)}, gzipped ${kilobytes(gzipped)}${of}`;
}
