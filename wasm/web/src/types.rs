//! What the generated TypeScript declarations say beside the classes: the host's interfaces, and
//! where the payloads' types come from.
//!
//! The payloads' types are generated from the core's JSON Schema into `npm/src/payloads.d.ts`; the
//! package puts them beside these declarations.

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &'static str = r#"
import type {
  AbortReason, AgentSummary, Boundary, Decision, DecisionKind, Effect, ErrorCode, ErrorPlace, Explanation, Fact, Head, Options, Receipt, Replay,
  StepReport, TurnRequest, WhyNot,
} from "./payloads.js";

type Without<T, Keys extends string> = T extends unknown ? Omit<T, Keys> : never;

/** What becomes of a fact: accepted, or ignored with the reason. */
export type Answer = Without<Receipt, "head" | "effects">;

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The folded state, for looking at: its shape is the core's own and follows no schema. */
export type State = { [key: string]: Json };

/** The texts of a fixture folder, by path relative to it, with `/` between names. */
export type Folder = Record<string, string>;

/** The code of an error of the host itself: its clock failed, or it lacks a part. */
export type HostErrorCode = "host_failed";

/** What is thrown: an `Error` with a code to branch on. */
export interface WakefulError extends Error {
  name: "WakefulError";
  code: ErrorCode | HostErrorCode;
  place?: ErrorPlace;
  /** The report as the core's exact JSON text. */
  reportText: string;
}

/** Where entries are kept. */
export interface Ledger {
  /**
   * Stores a batch of lines after the entry `expected`, all or nothing, durable before it returns. Where the ledger does not end there it
   * throws an `Error` with `code` "conflict" and `found`, the position where it ends.
   */
  append(expected: Head, batch: string[]): void;
  /** Up to `limit` lines after the position `after`, in order; empty at the end. */
  read(after: number, limit: number): string[];
  /** The newest snapshot that was stored, as it was written. A ledger without this method is read from its first entry. */
  loadSnapshot?(): string | undefined;
  /** Keeps a snapshot made at `head`, each time the ledger has doubled; older ones may go. Where it throws, nothing is lost but time. */
  storeSnapshot?(head: Head, snapshot: string): void;
}

/** What time it is. */
export interface Clock {
  /** Nanoseconds since the epoch. */
  now(): bigint;
}

/** Who executes turns. A method starts work and returns; what happens comes back later as facts that name the run. */
export interface Provider {
  startTurn(request: TurnRequest): void;
  interject(runId: string, messageId: string): void;
  yieldTurn(runId: string): void;
  abortTurn(runId: string, reason: AbortReason): void;
  /**
   * Which of these active tasks are proved alive, asked when an agent is driven; the others become interrupted. Without this method none is.
   * Where it throws, the agent is not taken over.
   */
  alive?(taskIds: string[]): string[];
  release(): void;
}

/** What a host gives. */
export interface Host {
  ledger: Ledger;
  clock: Clock;
  provider: Provider;
}

/** A batch to append at `expected`, and what it answers. */
export interface Proposal {
  expected: Head;
  batch: string[];
  head: Head;
  answer: Answer;
  decision: Decision | null;
  /** Whether a loop takes another step after it. */
  goes_on: boolean;
}
"#;
