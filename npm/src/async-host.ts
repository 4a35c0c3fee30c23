/** The interfaces that a host with asynchronous storage provides to `AsyncScheduler`. */
import type { Clock } from "./guest/wakeful_web.js";
import type { AbortReason, Head, TurnRequest } from "./payloads.js";

/**
 * A ledger whose calls may return promises. A synchronous `Ledger` is one too.
 */
export interface AsyncLedger {
  /**
   * Stores a batch of lines after the entry `expected`, all or nothing, durable before the promise
   * is fulfilled. If the ledger does not end there, it throws an `Error` with `code` "conflict" and
   * `found`, the position of its end, such as `LedgerConflict`.
   */
  append(expected: Head, batch: string[]): void | Promise<void>;
  /**
   * Up to `limit` lines after the position `after`, in order. A page may have fewer, so that it
   * does not become too long, but at least one; only an empty page is the end.
   */
  read(after: number, limit: number): string[] | Promise<string[]>;
}

/**
 * Executes turns. A method starts work and returns; results come back later as facts that name the
 * run. It may return a promise, which nothing awaits: if it rejects, the turn is aborted and
 * `AsyncHost.changed` is called.
 */
export interface AsyncProvider {
  /** Starts a turn. */
  startTurn(request: TurnRequest): void | Promise<void>;
  /** Inserts an operator message into the open run. */
  interject(runId: string, messageId: string): void | Promise<void>;
  /** Ends the run after this round. */
  yieldTurn(runId: string): void | Promise<void>;
  /** Aborts the run. */
  abortTurn(runId: string, reason: AbortReason): void | Promise<void>;
  /** Releases what is held for the agent, because it was stopped. */
  release(): void | Promise<void>;
  /**
   * Returns the active tasks that still run after a restart; the others become interrupted. Without
   * this method all are.
   */
  alive?(activeTaskIds: string[]): string[] | Promise<string[]>;
}

/** What a host provides. */
export interface AsyncHost {
  ledger: AsyncLedger;
  clock: Clock;
  provider: AsyncProvider;
  /**
   * Called if something was recorded outside of a call: the end of a turn whose provider's promise
   * rejected. Run until rest, and ask for `nextWake` again.
   */
  changed?(): void;
}
