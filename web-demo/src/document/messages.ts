// The messages between the page and the worker that holds the open ledger.
import type {
  AgentSummary,
  Boundary,
  DecisionKind,
  Edition,
  ErrorReport,
  Explanation,
  Head,
  WhyNot,
} from "@package/payloads.js";

import type { Json } from "@guest/wakeful_web.js";
import type { Verdict } from "../case/trace.ts";
import type { Row } from "./rows.ts";
import type { Kind, Source } from "./source.ts";

/**
 * An error for people: the core's report, or the page's own words if the core was not asked.
 */
export type Trouble = Pick<ErrorReport, "message">;

/** An answer or an error. */
export type Answer<T> = { ok: T } | { error: Trouble };

/** The progress of the opening. */
export interface Progress {
  doing: "reading" | "verifying";
  done: number;
  of: number;
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
}

/** The view of it. */
export interface Seen {
  look: Look;
  boundary: Boundary;
  explanation: Explanation;
  summary: AgentSummary;
}

/** The decision from this entry on. */
export interface Decided {
  seq: number;
  decision: DecisionKind;
  rule: string;
  reason: string;
}

/** The worker of one document. */
export interface Document {
  /**
   * Opens a source. It calls back with the progress and with the index in parts; it answers after
   * the last part was taken.
   */
  open(
    source: Source,
    progress: (progress: Progress) => void,
    indexed: (rows: Row[]) => void | Promise<void>,
  ): Promise<Answer<Opened>>;
  /** Adds lines that were appended since. */
  extend(lines: string[]): Promise<Answer<{ length: number; head: Head; rows: Row[] }>>;
  /** The decision after an entry, and why. */
  see(look: Look): Promise<Answer<Seen>>;
  /** The whole state after an entry. */
  state(seq: number): Promise<Answer<Json>>;
  /** A stored line. */
  line(seq: number): Promise<string>;
  /** What would have to change for another decision. */
  whyNot(seq: number, boundary: Boundary, decision: DecisionKind): Promise<Answer<WhyNot>>;
  /** The entries of a range at which the decision changes. */
  decided(from: number, to: number, edition: Edition | undefined): Promise<Answer<Decided[]>>;
  /** A fork: the lines up to an entry, and facts to propose after it. */
  fork(seq: number, facts: string[]): Promise<Source>;
  /** A fixture folder of the entries up to one, with its expected result. */
  folder(seq: number): Promise<Answer<Record<string, string>>>;
  /** The ledger, line by line. */
  text(): Promise<string>;
}
