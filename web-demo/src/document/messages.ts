// The messages between the page and the worker that holds the open ledger.
import type {
  AgentSummary,
  Boundary,
  DecisionKind,
  Edition,
  ErrorReport,
  Explanation,
  Head,
  Headline,
  Oddity,
  WhyNot,
} from "@package/payloads.js";

import type { Json } from "@guest/wakeful_web.js";
import type { Verdict } from "../case/trace.ts";
import type { Part } from "./index.ts";
import type { Row } from "./rows.ts";
import type { Kind, Source } from "./source.ts";
import type { SqliteFiles, StoredAgent } from "./sqlite.ts";

/**
 * An error for people: the core's report, or the page's own words if the core was not asked.
 */
export type Trouble = Pick<ErrorReport, "message">;

/** An answer or an error. */
export type Answer<T> = { ok: T } | { error: Trouble };

/** The progress of the opening. Reading counts bytes or entries, verifying counts entries. */
export interface Progress {
  doing: "reading" | "verifying";
  done: number;
  of: number;
  unit: "entries" | "bytes";
}

/** The open document. */
export interface Opened {
  name: string;
  kind: Kind;
  shows: string;
  agentId: string;
  length: number;
  head: Head;
  /** Whether the native core has the same history; only for bundled cases. */
  verdict: Verdict;
  /** The first entry that cannot be verified, and why. It and all after it were left out. */
  broken: { seq: number; error: Trouble } | null;
  /** What else to know about what was opened, in sentences. */
  warnings: string[];
  /** The position of the snapshot from which it was opened; 0 if all entries were verified. */
  snapshot: number;
  /** Whether the entries are records of another runtime, which have their own order in time. */
  recorded: boolean;
  /** The time for verifying and folding it in the guest, in milliseconds. */
  took_ms: number;
}

/** A supposition that replaces values of the ledger. */
export interface Supposed {
  edition?: Edition;
  policy?: Record<string, Json>;
}

/** The entry to look at, and how. */
export interface Look {
  seq: number;
  /** The boundary of the host's loop; by default the next one. */
  boundary?: Boundary | undefined;
  supposed?: Supposed | undefined;
  /** The time of the reader (RFC 3339), if the document is about now. */
  now?: string | undefined;
}

/** The view of it. */
export interface Seen {
  look: Look;
  boundary: Boundary;
  explanation: Explanation;
  headline: Headline;
  summary: AgentSummary;
}

/** The decision from this entry on. */
export interface Decided {
  seq: number;
  decision: DecisionKind;
  rule: string;
  reason: string;
}

/** What a decision says, without its entry. */
export type Said = Omit<Decided, "seq">;

/** What happened in some entries, without an object for each change of the decision. */
export interface History {
  /** The entries at which the decision changes. */
  seqs: Uint32Array;
  /** For each of them the position in `said`. */
  says: Uint32Array;
  /** All that any decision of this document said so far. */
  said: Said[];
  /** What is odd. A burst that goes on is in the next history too, with its first entry. */
  oddities: Oddity[];
}

/** What the agent reported: a brief. */
export interface Report {
  seq: number;
  text: string;
}

/** The worker of one document. */
export interface Document {
  /** Opens a source. It calls back with the progress. */
  open(source: Source, progress: (progress: Progress) => void): Promise<Answer<Opened>>;
  /**
   * Calls back with the index of the entries that were not indexed yet, in parts. Other questions
   * are answered between the parts.
   */
  index(taken: (part: Part) => void): Promise<void>;
  /** Adds lines that were appended since. */
  extend(lines: string[]): Promise<Answer<{ length: number; head: Head }>>;
  /** The rows of these entries. */
  rows(seqs: Uint32Array): Promise<Row[]>;
  /**
   * The entries whose row has every word. It calls back with them in parts, and with the entry up
   * to which it has looked; answers whether it came to the end. A newer search ends this one.
   */
  search(text: string, found: (seqs: Uint32Array, upTo: number) => void): Promise<boolean>;
  /** The decision after an entry, and why. */
  see(look: Look): Promise<Answer<Seen>>;
  /** The whole state after an entry. */
  state(seq: number): Promise<Answer<Json>>;
  /** A stored line. */
  line(seq: number): Promise<string>;
  /** The newest report among the last thousand entries up to one; null if they have none. */
  lastReport(seq: number): Promise<Report | null>;
  /** What would have to change for another decision. */
  whyNot(seq: number, boundary: Boundary, decision: DecisionKind): Promise<Answer<WhyNot>>;
  /** The entries of a range at which the decision changes, and what is odd in it. */
  history(from: number, to: number, edition: Edition | undefined): Promise<Answer<History>>;
  /** A fork: the lines up to an entry, and facts to propose after it. */
  fork(seq: number, facts: string[]): Promise<Source>;
  /** A fixture folder of the entries up to one, with its expected result. */
  folder(seq: number): Promise<Answer<Record<string, string>>>;
  /** The ledger, line by line. */
  file(): Promise<Blob>;
  /** The agents of a SQLite file, which needs no open document. */
  agents(files: SqliteFiles): Promise<Answer<StoredAgent[]>>;
}
