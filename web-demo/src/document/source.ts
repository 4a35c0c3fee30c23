// Recognises what can be opened: a file or text is a ledger or a story, and a folder is a fixture
// or a data folder. The core reads them.
import { strToU8, unzipSync } from "fflate";

import type { Trace } from "../case/trace.ts";

/** A source: its name for people, a sentence about it, and its content. */
export type Source = { name: string; shows: string } & (
  | { kind: "fixture"; files: Record<string, string>; trace?: Trace | null | undefined }
  | { kind: "story"; story: string; trace?: Trace | null | undefined }
  | { kind: "ledger"; text: string }
  | { kind: "fork"; of: string; after: number; lines: string[]; facts: string[] }
  | { kind: "live" | "served"; lines: string[] }
);

/** The kinds of sources. */
export type Kind = Source["kind"];

/**
 * The largest size that a tab opens, in bytes. Reading, verifying and indexing need twenty times as
 * much memory, and a tab has a few GB.
 */
export const MOST_BYTES = 120_000_000;

/** Files by relative path, with `/` between names. */
export type Files = Record<string, Uint8Array>;

/**
 * The kind of these files: a single file is a ledger, a story or an archive, and several files are
 * a folder.
 */
export function sourceOf(name: string, files: Files): Source {
  const paths = Object.keys(files);
  const [only] = paths;
  if (only === undefined) {
    throw new Error(`\`${name}\` has no files`);
  }
  if (paths.length > 1) {
    return folder(name, files);
  }
  const bytes = files[only] ?? new Uint8Array();
  if (startsWith(bytes, ZIP)) {
    return folder(name, unzipSync(bytes));
  }
  if (startsWith(bytes, SQLITE)) {
    throw new Error(
      `\`${only}\` is a ledger file of SQLite: \`wakeful log ${only} --json > ledger.jsonl\` writes one that opens here`,
    );
  }
  const [text, shows] = [textOf(only, bytes), `${size(bytes.length)}, opened from this computer`];
  if (/^\s*(\{\s*"seq"|$)/.test(text)) {
    return { kind: "ledger", name, shows, text };
  }
  if (/^\s*\{/.test(text)) {
    return { kind: "story", name, shows, story: text };
  }
  if (only.endsWith(".toml")) {
    throw new Error(
      `the command line reads stories in TOML: \`wakeful export ${only} -o FOLDER\` makes a folder of one that opens here`,
    );
  }
  throw new Error(
    `\`${only}\` cannot be opened here: a ledger has one entry per line, as \`wakeful log LEDGER --json\` prints it; a story is JSON; a fixture or a data folder is a folder, or a zip of one`,
  );
}

function folder(name: string, files: Files): Source {
  const whole = Object.entries(files).filter(([path]) => !path.endsWith("/"));
  const from = common(whole.map(([path]) => path));
  const texts = whole
    .filter(([path]) => /\.jsonl?$/.test(path))
    .map(([path, bytes]) => [path.slice(from), textOf(path, bytes)] as const);
  const bytes = whole.reduce((sum, [, file]) => sum + file.length, 0);
  return {
    kind: "fixture",
    name,
    shows: `${whole.length} files, ${size(bytes)}, opened from this computer`,
    files: Object.fromEntries(texts),
  };
}

/**
 * The length of the folder that all paths share, so that an archive may hold the folder or its
 * content.
 */
function common(paths: string[]): number {
  const first = paths[0]?.split("/")[0] ?? "";
  return first !== ".holon" &&
    paths.every((path) => path.startsWith(`${first}/`)) &&
    first !== "ledger"
    ? first.length + 1
    : 0;
}

const [ZIP, SQLITE] = [strToU8("PK\u0003\u0004"), strToU8("SQLite format 3")];

function startsWith(bytes: Uint8Array, magic: Uint8Array): boolean {
  return magic.every((byte, at) => bytes[at] === byte);
}

function textOf(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const at = firstBad(bytes);
    throw new Error(`\`${path}\` is not UTF-8 text: byte ${at} cannot be read`);
  }
}

/** The first byte that does not begin a character. */
function firstBad(bytes: Uint8Array): number {
  let [good, bad] = [0, bytes.length];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    // A character that is cut by the end of the part is not an error.
    const readable = !new TextDecoder()
      .decode(bytes.subarray(0, middle), { stream: true })
      .includes("\ufffd");
    [good, bad] = readable ? [middle, bad] : [good, middle];
  }
  return good;
}

/** Bytes in words. */
export function size(bytes: number): string {
  return bytes < 1_000_000
    ? `${(bytes / 1_000).toFixed(1)} kB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** The text of a folder from the core, as files of an archive. */
export function filesOf(texts: Record<string, string>): Files {
  return Object.fromEntries(Object.entries(texts).map(([path, text]) => [path, strToU8(text)]));
}

/** The dropped files, with the files of dropped folders. */
export async function dropped(
  items: DataTransferItemList,
): Promise<{ name: string; files: Files }> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const files: Files = {};
  for (const entry of entries) {
    await gather(entry, files);
  }
  const [first] = entries;
  const alone = entries.length === 1 && first !== undefined;
  const rooted = alone && first.isDirectory ? first.name.length + 1 : 0;
  return {
    name: alone ? first.name : `${entries.length} files`,
    files: Object.fromEntries(
      Object.entries(files).map(([path, bytes]) => [path.slice(rooted), bytes]),
    ),
  };
}

async function gather(entry: FileSystemEntry, files: Files): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((done, failed) =>
      (entry as FileSystemFileEntry).file(done, failed),
    );
    files[entry.fullPath.slice(1)] = await read(file, files);
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // A browser returns the names of a large folder in parts.
    const part = await new Promise<FileSystemEntry[]>((done, failed) =>
      reader.readEntries(done, failed),
    );
    if (part.length === 0) {
      return;
    }
    for (const child of part) {
      await gather(child, files);
    }
  }
}

/**
 * The bytes of a file. It is refused if it and the files before it would exceed the memory of a
 * tab.
 */
async function read(file: File, before: Files): Promise<Uint8Array> {
  const whole = Object.values(before).reduce((sum, { length }) => sum + length, file.size);
  if (whole > MOST_BYTES) {
    throw new Error(
      `${size(whole)} are more than a tab can hold; it opens up to ${size(MOST_BYTES)}. The command line has no such limit: \`wakeful why\`, \`wakeful log\``,
    );
  }
  return new Uint8Array(await file.arrayBuffer());
}

/** The files that were chosen in a dialog. */
export async function chosen(list: readonly File[]): Promise<{ name: string; files: Files }> {
  const files: Files = {};
  for (const file of list) {
    files[
      file.webkitRelativePath === "" ? file.name : file.webkitRelativePath.replace(/^[^/]*\//, "")
    ] = await read(file, files);
  }
  const [first] = list;
  const folder = first?.webkitRelativePath.split("/")[0] ?? "";
  return {
    name:
      folder === "" ? (list.length === 1 ? (first?.name ?? "") : `${list.length} files`) : folder,
    files,
  };
}
