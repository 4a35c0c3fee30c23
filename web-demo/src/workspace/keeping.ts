// Keeps documents in this browser, so that they survive a reload: what was opened, where the cursor
// stood, and the notes. A browser may refuse that; then the page works on without it.
import { createStore, delMany, get, getMany, keys, setMany, type UseStore } from "idb-keyval";

import type { Kind, Recognised } from "../document/source.ts";
import type { Turns } from "../document/sqlite.ts";

/** A note at an entry; one without a text is a bookmark. */
export interface Note {
  seq: number;
  text: string;
}

/** What is kept of a document beside its source. */
export interface Kept {
  /** Its name, which no other document has. */
  name: string;
  /** What another copy of the same ledger has too. */
  identity: string;
  kind: Kind | "store";
  shows: string;
  /**
   * The ledger file of SQLite that it is from, the agent in it, and who runs its turns if a server
   * drives it.
   */
  from: { file: string; agent: string; turns: Turns | null } | null;
  /** The document that it was forked from and the entry, or the store that it is in. */
  parent: string | null;
  after: number | null;
  /** The cursor; null for the newest entry. */
  seq: number | null;
  notes: Note[];
  /** When it was opened first, which orders the list. */
  opened: number;
}

// One record per document, because a record is written whole: the cursor moves often, and a source
// may have megabytes.
const ABOUT = "about ";
const SOURCE = "source ";

let store: UseStore | null = null;

function opened(): UseStore {
  store ??= createStore("wakeful-workbench", "documents");
  return store;
}

/** What is known of all kept documents. */
export async function keptDocuments(): Promise<Kept[]> {
  const names = (await keys<string>(opened())).filter((key) => key.startsWith(ABOUT));
  const found = await getMany<Kept>(names, opened());
  return found.filter((kept) => kept !== undefined);
}

/** The source of a kept document. */
export async function keptSource(name: string): Promise<Recognised | null> {
  return (await get<Recognised>(SOURCE + name, opened())) ?? null;
}

/** Keeps a document. */
export async function keep(kept: Kept, source: Recognised): Promise<void> {
  await setMany(
    [
      [ABOUT + kept.name, kept],
      [SOURCE + kept.name, source],
    ],
    opened(),
  );
}

/** Keeps what changed of a document that is kept already. */
export async function keepAbout(kept: Kept): Promise<void> {
  await setMany([[ABOUT + kept.name, kept]], opened());
}

/** Forgets documents. */
export async function forget(names: readonly string[]): Promise<void> {
  await delMany(
    names.flatMap((name) => [ABOUT + name, SOURCE + name]),
    opened(),
  );
}

/** Why a browser does not keep something, in words. */
export function whyNotKept(error: unknown): string {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "QuotaExceededError") {
    return "this browser has no space left for the page: remove documents, or free space";
  }
  if (name === "SecurityError" || name === "InvalidStateError") {
    return "this browser does not let the page keep anything, as in a private window";
  }
  return error instanceof Error ? error.message : String(error);
}
