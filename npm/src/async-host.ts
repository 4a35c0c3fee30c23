/** What a host with asynchronous storage lends: the interfaces of `AsyncScheduler`. */
import type { Clock } from "./guest/wakeful_web.js";
import type { AbortReason, Head, TurnRequest } from "./payloads.js";

/**
 * Where entries are kept, where storing or reading takes a while. A synchronous `Ledger` is one
 * too.
 */
export interface AsyncLedger {
  /**
   * Stores a batch of lines after the entry `expected`, all or nothing, durable before the promise
   * is fulfilled. Where the ledger does not end there it throws an `Error` with `code` "conflict"
   * and `found`, the position where it ends: `LedgerConflict` is one.
   */
  append(expected: Head, batch: string[]): void | Promise<void>;
  /** Up to `limit` lines after the position `after`, in order; empty at the end. */
  read(after: number, limit: number): string[] | Promise<string[]>;
}

/**
 * Who executes turns. A method starts work and returns; what happens comes back later as facts that
 * name the run. Where it returns a promise, nothing waits for it: should it be rejected, its turn
 * is aborted then, and `AsyncHost.changed` is called.
 */
export interface AsyncProvider {
  /** Starts a turn. */
  startTurn(request: TurnRequest): void | Promise<void>;
  /** Inserts an operator message into the open run. */
  interject(runId: string, messageId: string): void | Promise<void>;
  /** Ends the run after this round. */
  yieldTurn(runId: string): void | Promise<void>;
  /** Breaks the run off. */
  abortTurn(runId: string, reason: AbortReason): void | Promise<void>;
  /** The agent was stopped: lets go of what is held for it. */
  release(): void | Promise<void>;
  /**
   * Which of these active tasks still run after a restart; the others become interrupted. Without
   * this method none does.
   */
  alive?(activeTaskIds: string[]): string[] | Promise<string[]>;
}

/** What a host gives. */
export interface AsyncHost {
  ledger: AsyncLedger;
  clock: Clock;
  provider: AsyncProvider;
  /**
   * Called when something was recorded that no call asked for: the end of a turn whose provider's
   * promise was rejected. Run until rest, and ask `nextWake` again.
   */
  changed?(): void;
}
