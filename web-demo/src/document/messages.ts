// What the page asks of the worker that holds the open ledger, and what it gets.
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
 * What is wrong, for people: the core's report, or the page's own words where it never came to the
 * core.
 */
export type Trouble = Pick<ErrorReport, "message">;

/** An answer, or why there is none. */
export type Answer<T> = { ok: T } | { error: Trouble };

/** How far the opening has come. */
export interface Progress {
  doing: "reading" | "verifying";
  done: number;
  of: number;
}

/** What is open. */
export interface Opened {
  name: string;
  kind: Kind;
  shows: string;
  agentId: string;
  length: number;
  head: Head;
  /** Whether the native core has the same history; known for bundled cases. */
  verdict: Verdict;
  /** How long the guest took to verify and fold it, in milliseconds. */
  took_ms: number;
}

/** What is supposed instead of what the ledger says. */
export interface Supposed {
  edition?: Edition;
  policy?: Record<string, Json>;
}

/** What is looked at. */
export interface Look {
  seq: number;
  /** Where in the host's loop; without it, where a loop would go on. */
  boundary?: Boundary | undefined;
  supposed?: Supposed | undefined;
}

/** What is seen there. */
export interface Seen {
  look: Look;
  boundary: Boundary;
  explanation: Explanation;
  summary: AgentSummary;
}

/** From this entry on, the loop would decide so. */
export interface Decided {
  seq: number;
  decision: DecisionKind;
  rule: string;
  reason: string;
}

/** The worker of one document. */
export interface Document {
  /**
   * Opens a source; calls back with how far it is, and with the index in parts, all of which are
   * taken in before it answers.
   */
  open(
    source: Source,
    progress: (progress: Progress) => void,
    indexed: (rows: Row[]) => void | Promise<void>,
  ): Promise<Answer<Opened>>;
  /** Goes on with lines that were appended since. */
  extend(lines: string[]): Promise<Answer<{ length: number; head: Head; rows: Row[] }>>;
  /** What would be decided after an entry, and why. */
  see(look: Look): Promise<Answer<Seen>>;
  /** The whole state after an entry. */
  state(seq: number): Promise<Answer<Json>>;
  /** A stored line. */
  line(seq: number): Promise<string>;
  /** What would have to change for another decision. */
  whyNot(seq: number, boundary: Boundary, decision: DecisionKind): Promise<Answer<WhyNot>>;
  /** After which entries of a range the decision is another. */
  decided(from: number, to: number, edition: Edition | undefined): Promise<Answer<Decided[]>>;
  /** A fork: the lines up to an entry, and facts to propose after it. */
  fork(seq: number, facts: string[]): Promise<Source>;
  /** A fixture folder of the entries up to one, with what is expected of it. */
  folder(seq: number): Promise<Answer<Record<string, string>>>;
  /** The ledger, line by line. */
  text(): Promise<string>;
}
