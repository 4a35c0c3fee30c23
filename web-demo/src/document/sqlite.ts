// Reads the agents of a ledger file of SQLite, with the WAL beside it. This module and the library
// are loaded when a person opens such a file.
import type { Database, Sqlite3Static } from "@sqlite.org/sqlite-wasm";

import { Lines } from "./lines.ts";
import { readable, registerFiles, VFS, type Readable } from "./stored-file.ts";

/** A ledger file of SQLite and what lies beside it. */
export interface SqliteFiles {
  /** The name of the ledger file. */
  name: string;
  file: Blob;
  /** The WAL with the newest entries; null if it was not opened too. */
  wal: Blob | null;
  /** Other ledger files with their WALs, by name. One of them may be the archive. */
  beside: Record<string, { file: Blob; wal: Blob | null }>;
}

/** Who runs the turns of an agent that a server drives: its model, or a host elsewhere. */
export type Turns = "model" | "elsewhere";

/** An agent of a ledger file. */
export interface StoredAgent {
  id: string;
  /** Null if no server has registered it. */
  turns: Turns | null;
  entries: number;
  /** The instant of its newest entry, RFC 3339; empty if it has none. */
  newestAt: string;
}

/** What was read of an agent. */
export interface ReadAgent {
  lines: Lines;
  snapshot: string | null;
  warnings: string[];
}

/** The mark of our files in their header: "Wkfl". */
const APPLICATION_ID = 0x576b_666c;

/** The newest schema that is read here. */
const NEWEST = 3;

/** With fewer entries before a snapshot, all of them are read at once. */
const MANY = 2_000;

/** Entries between two reports of progress. */
const REPORTED = 8_192;

/** The agents of a file, by name. */
export async function agentsOf(files: SqliteFiles): Promise<StoredAgent[]> {
  const listed = await using(files, ({ database }) => {
    const [isNew] = database.selectValues(
      "SELECT 1 FROM pragma_table_info('agents') WHERE name = 'goes_on_in'",
    );
    const found = database.selectObjects(
      `SELECT agent, agent_id, ${isNew === undefined ? "NULL" : "goes_on_in"} AS goes_on_in
       FROM agents ORDER BY agent_id`,
    ) as { agent: number; agent_id: string; goes_on_in: string | null }[];
    const turns = registered(database);
    // An archive that was opened together with the rest belongs to the agent there.
    const here = found.filter(
      ({ goes_on_in: rest }) => rest === null || files.beside[nameIn(rest)] === undefined,
    );
    return here.map(({ agent, agent_id: id }) => {
      const [newest] = database.selectObjects(
        "SELECT seq, canonical FROM entries WHERE agent = ?1 ORDER BY seq DESC LIMIT 1",
        [agent],
      ) as { seq: number; canonical: string }[];
      return {
        id,
        turns: turns.get(id) ?? null,
        entries: newest?.seq ?? 0,
        newestAt: instantOf(newest?.canonical),
      };
    });
  });
  const [warning] = await missing(files);
  if (listed.length === 0 && warning !== undefined) {
    throw new Error(warning);
  }
  return listed;
}

/** What servers of the file keep of its agents. */
function registered(database: Database): Map<string, Turns | null> {
  const [hasTable] = database.selectValues("SELECT 1 FROM sqlite_master WHERE name = 'kept'");
  const kept =
    hasTable === undefined
      ? []
      : (database.selectObjects(
          `SELECT name, value ->> '$.turns' AS turns FROM kept
           WHERE kind = 'agent' AND json_valid(value)`,
        ) as { name: string; turns: string | null }[]);
  const known = (turns: string | null) =>
    turns === "model" || turns === "elsewhere" ? turns : null;
  return new Map(kept.map(({ name, turns }) => [name, known(turns)]));
}

/**
 * Reads an agent. If a snapshot lets the core begin near the end, the entries before it are read
 * later.
 */
export async function readAgent(
  files: SqliteFiles,
  agentId: string,
  progress: (done: number, of: number) => void,
): Promise<ReadAgent> {
  const warnings = await missing(files);
  const lines = new Lines();
  const anchor = await using(files, ({ database }) => anchorOf(database, agentId));
  if (anchor !== null) {
    const old = archiveOf(files, agentId, anchor);
    warnings.push(...(await missing(old)));
    const torn = await using(old, (file) =>
      readEntries(file, agentId, anchor.seq, lines, progress),
    );
    if (torn !== null) {
      throw new Error(`\`${old.name}\`: ${torn}`);
    }
  }
  const file = await openFile(files);
  let isOpen = false;
  try {
    const [snapshot] = file.database.selectObjects(
      `SELECT seq, text FROM snapshots WHERE agent = ${NUMBER} ORDER BY seq DESC LIMIT 1`,
      [agentId],
    ) as { seq: number; text: string }[];
    if (snapshot !== undefined && anchor === null && snapshot.seq > MANY) {
      const late = readLate(file, agentId, snapshot.seq - 1);
      if (late !== null) {
        isOpen = true;
        return { lines: late, snapshot: snapshot.text, warnings };
      }
    }
    const torn = readEntries(file, agentId, Number.MAX_SAFE_INTEGER, lines, progress);
    if (torn !== null && lines.length === 0) {
      throw new Error(torn);
    }
    return {
      lines,
      // A snapshot of what cannot be read says nothing about the rest.
      snapshot: torn === null ? (snapshot?.text ?? null) : null,
      warnings: torn === null ? warnings : [...warnings, torn],
    };
  } catch (error) {
    throw inWords(error, files.name, file.sqlite3);
  } finally {
    if (!isOpen) {
      file.close();
    }
  }
}

/** Lines whose first `count` entries are read later; null if what comes after them is damaged. */
function readLate(file: OpenFile, agentId: string, count: number): Lines | null {
  const tail = new Lines();
  try {
    for (const _ of entriesOf(file, agentId, count, Number.MAX_SAFE_INTEGER, tail));
  } catch {
    return null;
  }
  if (tail.length === 0) {
    return null;
  }
  let rows: Generator<void> | undefined;
  return Lines.late(count, tail, (into, to) => {
    rows ??= entriesOf(file, agentId, 0, count, into);
    while (into.read < to) {
      if (rows.next().done === true) {
        throw new Error(`the file has no entry ${into.read + 1}`);
      }
    }
    if (into.read >= count) {
      rows.return(undefined);
      file.close();
    }
  });
}

/** The number of an agent in its file, which the first parameter names. */
const NUMBER = "(SELECT agent FROM agents WHERE agent_id = ?1)";

/** The archive that has the beginning of a ledger. */
interface Anchor {
  seq: number;
  archive: string;
}

function anchorOf(database: Database, agentId: string): Anchor | null {
  // Files of schema version 1 have no anchors.
  const has = database.selectValue("SELECT 1 FROM sqlite_schema WHERE name = 'anchors'");
  const [found] =
    has === undefined
      ? []
      : database.selectObjects(`SELECT seq, archive FROM anchors WHERE agent = ${NUMBER}`, [
          agentId,
        ]);
  return found === undefined
    ? null
    : { seq: Number(found["seq"]), archive: String(found["archive"]) };
}

/** The name of a file in a path that another system may have written. */
function nameIn(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? path;
}

/** The archive among the files that were opened together. */
function archiveOf(files: SqliteFiles, agentId: string, { seq, archive }: Anchor): SqliteFiles {
  const name = nameIn(archive);
  const found = files.beside[name];
  if (found === undefined) {
    throw new Error(
      `the entries of \`${agentId}\` up to ${seq} were moved to \`${archive}\`: open \`${files.name}\` and that file together`,
    );
  }
  return { name, ...found, beside: {} };
}

/**
 * Adds the entries after those that are there, up to `to`. Returns what is wrong if the file is
 * damaged; the entries before that were added.
 */
function readEntries(
  file: OpenFile,
  agentId: string,
  to: number,
  into: Lines,
  progress: (done: number, of: number) => void,
): string | null {
  const newest = Number(
    file.database.selectValue(`SELECT max(seq) FROM entries WHERE agent = ${NUMBER}`, [agentId]) ??
      0,
  );
  const of = Math.min(newest, to);
  try {
    for (const _ of entriesOf(file, agentId, into.length, of, into)) {
      if (into.length % REPORTED === 0) {
        progress(into.length, of);
      }
    }
    return null;
  } catch (error) {
    return `the file is damaged after entry ${into.length}: ${why(error)}`;
  }
}

/** Adds the entries after `after` up to `to` to lines, one per step. */
function* entriesOf(
  { database, sqlite3: { capi, wasm } }: OpenFile,
  agentId: string,
  after: number,
  to: number,
  into: Lines,
): Generator<void> {
  const statement = database.prepare(
    `SELECT canonical, chain FROM entries
     WHERE agent = ${NUMBER} AND seq > ?2 AND seq <= ?3 ORDER BY seq`,
  );
  try {
    statement.bind([agentId, after, to]);
    // The bytes go from the memory of SQLite into the lines, and never become a text.
    const column = (number: number) => {
      const from = Number(capi.sqlite3_column_blob(statement, number));
      return wasm.heap8u().subarray(from, from + capi.sqlite3_column_bytes(statement, number));
    };
    while (statement.step()) {
      // As the core joins them: the chain is the last field.
      into.pushJoined(column(0).subarray(0, -1), ended(column(1)));
      yield;
    }
  } finally {
    statement.finalize();
  }
}

/** The end of a stored line, for this chain. */
function ended(chain: Uint8Array): Uint8Array {
  const end = END.slice();
  chain.forEach((byte, at) => {
    end[CHAIN_AT + 2 * at] = HEX[byte >> 4] ?? 0;
    end[CHAIN_AT + 2 * at + 1] = HEX[byte & 15] ?? 0;
  });
  return end;
}

const [HEX, END] = ["0123456789abcdef", `,"chain":"${"0".repeat(64)}"}`].map((text) =>
  new TextEncoder().encode(text),
) as [Uint8Array, Uint8Array];

/** The position at which the digits of a chain begin. */
const CHAIN_AT = END.indexOf(0x30);

/** What to say of a file in WAL mode without its WAL. */
async function missing({ name, file, wal }: SqliteFiles): Promise<string[]> {
  const header = new Uint8Array(await file.slice(0, 20).arrayBuffer());
  const isInWalMode = header[18] === 2 && header[19] === 2;
  return isInWalMode && wal === null
    ? [
        `\`${name}\` was opened without \`${name}-wal\`. If that file exists, it has the newest entries: open both together`,
      ]
    : [];
}

/** A ledger file that is open. */
interface OpenFile {
  database: Database;
  sqlite3: Sqlite3Static;
  /** Nothing is written back: the file system refuses it. */
  close: () => void;
}

/** Opens a file, asks it something, and lets it go. */
async function using<T>(files: SqliteFiles, ask: (file: OpenFile) => T): Promise<T> {
  const file = await openFile(files);
  try {
    return ask(file);
  } catch (error) {
    throw inWords(error, files.name, file.sqlite3);
  } finally {
    file.close();
  }
}

async function openFile(files: SqliteFiles): Promise<OpenFile> {
  const sqlite3 = await library();
  FILES.clear();
  FILES.set("/ledger", await readable(files.file));
  if (files.wal !== null) {
    FILES.set("/ledger-wal", await readable(files.wal));
  }
  const [lost] = await missing(files);
  let database: Database | undefined;
  const close = () => {
    database?.close();
    database = undefined;
    FILES.clear();
  };
  try {
    database = new sqlite3.oo1.DB({ filename: "/ledger", flags: "r", vfs: VFS });
    database.exec("PRAGMA locking_mode = exclusive");
    check(files.name, database, lost);
    return { database, sqlite3, close };
  } catch (error) {
    close();
    throw inWords(error, files.name, sqlite3);
  }
}

/** An error of SQLite, with the file that it is about. */
function inWords(error: unknown, name: string, { capi, SQLite3Error }: Sqlite3Static): unknown {
  if (!(error instanceof SQLite3Error)) {
    return error;
  }
  return new Error(
    error.resultCode === capi.SQLITE_NOTADB
      ? `\`${name}\` is not a file of SQLite, or it is encrypted`
      : `\`${name}\` cannot be read: ${why(error)}`,
    { cause: error },
  );
}

/** Refuses a file of another program, or one that is newer than this page. */
function check(name: string, database: Database, lost: string | undefined) {
  const [application, version] = ["application_id", "user_version"].map((pragma) =>
    Number(database.selectValue(`PRAGMA ${pragma}`)),
  );
  if (application !== APPLICATION_ID) {
    throw new Error(
      // The WAL of a young file has everything, even its mark.
      (application === 0 ? lost : undefined) ??
        `\`${name}\` is not a ledger file of Wakeful: another program made it, so it has no entries to show`,
    );
  }
  if ((version ?? 0) > NEWEST) {
    throw new Error(
      `\`${name}\` has the schema version ${version}, and this page reads up to ${NEWEST}: use the page of a newer \`wakeful serve\``,
    );
  }
}

/** The files that the file system has now. */
const FILES = new Map<string, Readable>();

let loaded: Promise<Sqlite3Static> | undefined;

/** The library, loaded once. */
function library(): Promise<Sqlite3Static> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<Sqlite3Static> {
  // Its other file systems need headers that this page is served without, and warn about that.
  const off = { kvvfs: true, opfs: true, "opfs-sahpool": true, "opfs-wl": true, "opfs-vfs": true };
  Object.assign(globalThis, { sqlite3ApiConfig: { disable: { vfs: off } } });
  const { default: init } = await import("@sqlite.org/sqlite-wasm");
  const sqlite3 = await init();
  registerFiles(sqlite3, FILES);
  return sqlite3;
}

function instantOf(canonical: string | undefined): string {
  return /"at":"([^"]*)"/.exec(canonical ?? "")?.[1] ?? "";
}

function why(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
