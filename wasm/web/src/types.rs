//! The parts of the TypeScript declarations beside the classes: the host's interfaces, and the
//! imports of the payload types.
//!
//! The payload types are generated from the core's JSON Schema into `npm/src/payloads.d.ts`. The
//! package has them beside these declarations.

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &'static str = r#"
import type {
  AbortReason, AgentSummary, Boundary, Decision, DecisionKind, Effect, ErrorCode, ErrorPlace,
  Explanation, Fact, Head, Options, Receipt, Replay, StepReport, TurnRequest, WhyNot,
} from "./payloads.js";

type Without<T, Keys extends string> = T extends unknown ? Omit<T, Keys> : never;

/** The answer to a fact: accepted, or ignored with the reason. */
export type Answer = Without<Receipt, "head" | "effects">;

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The folded state, for inspection. Its shape is internal and has no schema. */
export type State = { [key: string]: Json };

/** The texts of a fixture folder, by path relative to it, with `/` between names. */
export type Folder = Record<string, string>;

/**
 * The code of an error beside those of the core: "host_failed" if the clock failed or the host lacks
 * a part, and "not_in_module" if the small module `core.wasm` does not have the method.
 */
export type HostErrorCode = "host_failed" | "not_in_module";

/** The error that is thrown: an `Error` with a code to branch on. */
export interface WakefulError extends Error {
  name: "WakefulError";
  code: ErrorCode | HostErrorCode;
  place?: ErrorPlace;
  /** The report as the core's exact JSON text. */
  reportText: string;
}

/** The store of the entries. */
export interface Ledger {
  /**
   * Stores a batch of lines after the entry `expected`, all or nothing, durable before it returns.
   * If the ledger does not end there, it throws an `Error` with `code` "conflict" and `found`, the
   * position of its end.
   */
  append(expected: Head, batch: string[]): void;
  /** Up to `limit` lines after the position `after`, in order; empty at the end. */
  read(after: number, limit: number): string[];
  /**
   * The newest stored snapshot, as it was written. A ledger without this method is read from its
   * first entry.
   */
  loadSnapshot?(): string | undefined;
  /**
   * Stores a snapshot made at `head`, each time the entries since the newest one have become about
   * four times as long; it may delete older ones. If it throws, only the next opening takes longer.
   */
  storeSnapshot?(head: Head, snapshot: string): void;
}

/** The time. */
export interface Clock {
  /** Nanoseconds since the epoch. */
  now(): bigint;
}

/**
 * Executes turns. A method starts work and returns; results come back later as facts that name the
 * run.
 */
export interface Provider {
  startTurn(request: TurnRequest): void;
  interject(runId: string, messageId: string): void;
  yieldTurn(runId: string): void;
  abortTurn(runId: string, reason: AbortReason): void;
  /**
   * Returns the tasks among these that are proved alive, when a driver opens an agent. The others
   * become interrupted; without this method, all of them. If it throws, the agent is not taken over.
   */
  alive?(taskIds: string[]): string[];
  release(): void;
}

/** What a host provides. */
export interface Host {
  ledger: Ledger;
  clock: Clock;
  provider: Provider;
}

/** A batch to append at `expected`, and the answer of its fact. */
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
