// Recognises what can be opened: a file or text is a ledger or a story, a folder is a fixture, a
// data folder, or a place with several ledgers. The core reads them.
import { strToU8, unzipSync } from "fflate";

import type { Trace } from "../case/trace.ts";
import { size, startOf, startsWith, textOf, type Files } from "./files.ts";
import type { SqliteFiles, StoredAgent, Turns } from "./sqlite.ts";
import type { Note } from "../workspace/keeping.ts";
import { NOTES_FILE, readNotes } from "../workspace/notes.ts";

/** A source: its name for people, a sentence about it, its content, and notes that came along. */
export type Source = { name: string; shows: string; notes?: readonly Note[] } & (
  | { kind: "fixture"; files: Record<string, string>; trace?: Trace | null | undefined }
  | { kind: "story"; story: string; trace?: Trace | null | undefined }
  | { kind: "ledger"; lines: Blob }
  | { kind: "sqlite"; files: SqliteFiles; agent: string; turns: Turns | null }
  | { kind: "fork"; of: string; after: number; lines: Blob; facts: string[] }
  | { kind: "live" | "served"; lines: string[] }
);

/** The kinds of documents. A ledger of SQLite is a ledger. */
export type Kind = Exclude<Source["kind"], "sqlite">;

/** A place with several agents, each of which opens as a document. */
export interface Store {
  kind: "store";
  name: string;
  shows: string;
  agents: StoreAgent[];
}

/** An agent of a store. */
export interface StoreAgent extends StoredAgent {
  source: Source;
}

/** What some files are. */
export type Recognised = Source | Store;

/** Asks a ledger file of SQLite for its agents. */
export type AskAgents = (files: SqliteFiles) => Promise<StoredAgent[]>;

const [ZIP, SQLITE] = [strToU8("PK\u0003\u0004"), strToU8("SQLite format 3\0")];

/**
 * Recognises files. A single file is a ledger, a story or an archive. SQLite keeps one ledger file
 * in up to three files; and other files are a folder.
 */
export async function sourceOf(
  name: string,
  given: Files,
  agentsOf: AskAgents,
): Promise<Recognised> {
  const files = Object.fromEntries(
    Object.entries(given).filter(([path]) => !path.endsWith("/") && !isOfTheSystem(path)),
  );
  const paths = Object.keys(files);
  const [only] = paths;
  if (only === undefined) {
    throw new Error(`\`${name}\` has no files`);
  }
  const withNotes = paths.find((path) => base(path) === NOTES_FILE);
  if (withNotes !== undefined && paths.length > 1) {
    const { [withNotes]: file = new Blob(), ...others } = files;
    const notes = readNotes(await text(withNotes, file));
    const found = await sourceOf(name, others, agentsOf);
    return found.kind === "store" ? found : { ...found, notes };
  }
  if (paths.length === 1) {
    const file = files[only] ?? new Blob();
    if (startsWith(await startOf(file), ZIP)) {
      const unpacked = unzipSync(new Uint8Array(await file.arrayBuffer()));
      const inside = Object.entries(unpacked).map(([path, bytes]) => [
        path,
        new Blob([bytes as BlobPart]),
      ]);
      return sourceOf(name, Object.fromEntries(inside) as Files, agentsOf);
    }
    return startsWith(await startOf(file), SQLITE)
      ? storeOf(name, await storedIn(name, files, agentsOf), 1)
      : single(name, only, file);
  }
  if (!isFolderOfOneAgent(paths)) {
    const agents = [...(await storedIn(name, files, agentsOf)), ...(await ledgersIn(files))];
    if (agents.length > 0) {
      return storeOf(name, agents, paths.filter((path) => !isPartOfSqlite(path)).length);
    }
  }
  return folder(name, files);
}

/** Files that a system leaves in folders and archives. */
function isOfTheSystem(path: string): boolean {
  return /(^|\/)(\.DS_Store|__MACOSX\/.*|Thumbs\.db)$/.test(path);
}

/** Whether these are the files of a fixture or of a data folder. */
function isFolderOfOneAgent(paths: string[]): boolean {
  const from = common(paths);
  return paths
    .map((path) => path.slice(from))
    .some((path) => path === "agent.json" || /^(\.holon\/)?ledger\/[^/]+\.jsonl$/.test(path));
}

async function single(name: string, path: string, file: Blob): Promise<Source> {
  const shows = `${size(file.size)}, opened from this computer`;
  if (isPartOfSqlite(path)) {
    throw new Error(
      `\`${path}\` is only a part of a ledger file: open \`${path.replace(/-(wal|shm)$/, "")}\` and \`${path}\` together`,
    );
  }
  const bytes = await startOf(file, true);
  const begins = new TextDecoder().decode(bytes.subarray(0, 4_000));
  if (/^\s*(\{\s*"seq"|$)/.test(begins)) {
    // A later line that is not text is a damaged entry, and the core says which one.
    const end = bytes.indexOf(10);
    textOf(path, end === -1 ? bytes : bytes.subarray(0, end));
    return { kind: "ledger", name, shows, lines: file };
  }
  if (/^\s*\{/.test(textOf(path, bytes))) {
    return { kind: "story", name, shows, story: await text(path, file) };
  }
  if (path.endsWith(".toml")) {
    // The parser is loaded only for those who need it.
    const { storyOfToml } = await import("./toml.ts");
    return { kind: "story", name, shows, story: storyOfToml(path, await text(path, file)) };
  }
  throw new Error(
    `\`${path}\` cannot be opened here: a ledger is a file of SQLite, or has one entry per line, as \`wakeful log LEDGER --json\` prints it; a story is TOML or JSON; a fixture or a data folder is a folder, or a zip of one`,
  );
}

/** A file that SQLite keeps beside a ledger file. */
function isPartOfSqlite(path: string): boolean {
  return /-(wal|shm)$/.test(path);
}

/** The agents of all ledger files of SQLite among these. */
async function storedIn(name: string, files: Files, agentsOf: AskAgents): Promise<StoreAgent[]> {
  const found: SqliteFiles["beside"] = {};
  for (const [path, file] of Object.entries(files)) {
    if (startsWith(await startOf(file), SQLITE)) {
      found[path] = { file, wal: files[`${path}-wal`] ?? null };
    }
  }
  const agents: StoreAgent[] = [];
  for (const [path, { file, wal }] of Object.entries(found)) {
    const others = Object.entries(found).filter(([other]) => other !== path);
    const beside = Object.fromEntries(others.map(([other, of]) => [base(other), of]));
    const of: SqliteFiles = { name: base(path), file, wal, beside };
    const shows = `${base(path)}, ${size(file.size + (wal?.size ?? 0))}, opened from this computer`;
    for (const agent of await agentsOf(of)) {
      agents.push({
        ...agent,
        source: {
          kind: "sqlite",
          name: agent.id,
          shows,
          files: of,
          agent: agent.id,
          turns: agent.turns,
        },
      });
    }
  }
  if (agents.length === 0 && Object.keys(found).length > 0) {
    throw new Error(`\`${name}\` has no agents: nothing was recorded in it yet`);
  }
  return agents;
}

/** The ledgers of lines among these files, whose folders do not matter. */
async function ledgersIn(files: Files): Promise<StoreAgent[]> {
  const found: StoreAgent[] = [];
  for (const [path, file] of Object.entries(files)) {
    if (!path.endsWith(".jsonl")) {
      continue;
    }
    const start = new TextDecoder().decode(await startOf(file));
    if (!/^\s*\{\s*"seq"\s*:\s*1\b/.test(start)) {
      continue;
    }
    const id = /"agent_id"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(start)?.[1] ?? path;
    const newest = lastLine(await endOf(file));
    found.push({
      id,
      turns: null,
      entries: Number(/"seq"\s*:\s*(\d+)/.exec(newest)?.[1] ?? 0),
      newestAt: /"at"\s*:\s*"([^"]*)"/.exec(newest)?.[1] ?? "",
      source: {
        kind: "ledger",
        name: path,
        shows: `${size(file.size)}, opened from this computer`,
        lines: file,
      },
    });
  }
  return found;
}

/** The bytes at the end of a file in which its last line is looked for. */
const END = 600_000;

async function endOf(file: Blob): Promise<string> {
  return file.slice(Math.max(0, file.size - END)).text();
}

function lastLine(text: string): string {
  const lines = text.trimEnd().split("\n");
  return lines.at(-1) ?? "";
}

/** Several agents as a store. A single one is a document with the name of its files. */
function storeOf(name: string, agents: StoreAgent[], files: number): Recognised {
  const [alone] = agents;
  if (agents.length === 1 && alone !== undefined) {
    return { ...alone.source, name };
  }
  const where = files === 1 ? "a ledger file" : `${files} files`;
  return {
    kind: "store",
    name,
    shows: `${agents.length} agents in ${where}, opened from this computer`,
    agents,
  };
}

async function folder(name: string, files: Files): Promise<Source> {
  const paths = Object.keys(files);
  const from = common(paths);
  const texts: [string, string][] = [];
  for (const [path, file] of Object.entries(files)) {
    if (/\.jsonl?$/.test(path)) {
      texts.push([path.slice(from), await text(path, file)]);
    }
  }
  const bytes = Object.values(files).reduce((sum, file) => sum + file.size, 0);
  return {
    kind: "fixture",
    name,
    shows: `${paths.length} files, ${size(bytes)}, opened from this computer`,
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

function base(path: string): string {
  return path.split("/").at(-1) ?? path;
}

async function text(path: string, file: Blob): Promise<string> {
  return textOf(path, new Uint8Array(await file.arrayBuffer()));
}
