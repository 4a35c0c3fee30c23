/** The entries of an agent as the ledger stores them, each verified to follow the one before. */
import type { Chain, Head, Record, Seq, Timestamp } from "../payloads.js";
import { blake3 } from "./blake3.js";
import type { StreamedEvent } from "./events.js";

/** An entry of a ledger. */
export interface StoredEntry {
  /** The number of the entry, from 1. */
  seq: Seq;
  /** When it was stored. */
  at: Timestamp;
  /** The class of the record, such as `message`. */
  class: string;
  /** What happened. */
  record: Record;
  /** The hash of the history up to and including this entry. */
  chain: Chain;
  /** The stored bytes as text, which the chain is made from. */
  text: string;
}

/** An entry that is not the next one of the history. */
export class EntryError extends Error {
  override readonly name = "EntryError";
  /** The number of the entry. */
  readonly seq: number;

  constructor(seq: number, message: string) {
    super(message);
    this.seq = seq;
  }
}

/** A ledger without entries. */
export const START: Head = { seq: 0, chain: "0".repeat(64) };

const encoder = new TextEncoder();

/** A stored line: what is hashed, up to its closing brace, and the chain. */
const LINE = /^(\{[^]*),"chain":"([0-9a-f]{64})"\}$/;

/**
 * The entry that an event of the stream has. It must follow `before`; without a chain there, its
 * own chain is taken as it is.
 */
export function entryOf(
  { id, data }: StreamedEvent,
  before: { seq: number; chain: string | undefined },
): StoredEntry {
  const seq = before.seq + 1;
  if (id !== String(seq)) {
    throw new EntryError(seq, `entry ${seq} is missing: the server sent \`${id}\` in its place`);
  }
  const [, canonical, chain] = LINE.exec(data) ?? [];
  if (chain === undefined) {
    throw new EntryError(seq, `entry ${seq} cannot be read: it does not end with its chain`);
  }
  if (before.chain !== undefined && chained(before.chain, `${canonical}}`) !== chain) {
    throw new EntryError(
      seq,
      `entry ${seq} breaks the chain: its bytes or an earlier entry were changed`,
    );
  }
  const entry = parsed(seq, data);
  if (entry.seq !== seq) {
    throw new EntryError(seq, `entry ${seq} is missing: the text is of entry ${entry.seq}`);
  }
  return { ...entry, text: data };
}

function parsed(seq: number, text: string): Omit<StoredEntry, "text"> {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const error = new EntryError(seq, `entry ${seq} cannot be read: it is not JSON`);
    error.cause = cause;
    throw error;
  }
}

/** The chain after an entry: BLAKE3 of the chain before it and its canonical bytes. */
function chained(before: string, canonical: string): string {
  const hash = blake3.create();
  hash.update(Uint8Array.from(before.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16)));
  hash.update(encoder.encode(canonical));
  return Array.from(hash.digest(), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
