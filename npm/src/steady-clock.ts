/** A clock for drivers. Time passes also while the host's clock is behind the ledger. */
import type { AsyncScheduler } from "./async-scheduler.js";
import { type Clock, readClock, type Scheduler, Steady } from "./guest/wakeful_web.js";
import type { Head } from "./payloads.js";

/** Options of `SteadyClock`. */
export interface SteadyOptions {
  /**
   * Whether the host's clock is right: it is synchronised, or the operator vouches for it. Then a
   * ledger that a clock ahead left in the future is set back. By default it is not.
   */
  trusted?: boolean;
  /** Milliseconds by a clock that never jumps. By default `performance.now`. */
  monotonic?: () => number;
}

/**
 * A clock over that of the host. While the host's clock is more than a minute behind the newest
 * entry, it lets time pass from that entry on, so that what is due becomes due.
 *
 * Give it to a scheduler as its clock, and call `keepTime` before each run until rest.
 */
export class SteadyClock implements Clock {
  readonly #clock: Clock;
  readonly #trusted: boolean;
  readonly #monotonic: () => number;
  #steady: Steady | undefined;
  #newest = { seq: -1, since: 0 };
  /** When the scheduler read the clock last: nothing was appended after that. */
  #read = 0;
  /** Whether it shows the host's own time, as while the ledger is set back. */
  #showsHost = false;

  constructor(clock: Clock, options: SteadyOptions = {}) {
    this.#clock = clock;
    this.#trusted = options.trusted ?? false;
    this.#monotonic = options.monotonic ?? (() => performance.now());
  }

  now(): bigint {
    const host = readClock(this.#clock);
    this.#read = this.#monotonic();
    if (this.#showsHost || this.#steady === undefined) {
      return host;
    }
    return this.#steady.now(host, this.#read);
  }

  /**
   * Does what is due about a clock that is behind the ledger. The diagnostic `clock_behind` is
   * recorded; if the clock is trusted, the ledger is set back after a minute.
   *
   * @returns What was done, if anything.
   * @throws As `propose` and `runUntilRest` of the scheduler.
   */
  async keepTime(
    scheduler: Scheduler | AsyncScheduler,
  ): Promise<"reported" | "corrected" | undefined> {
    const monotonic = this.#monotonic();
    // Asking for the state reads the clock too.
    const read = this.#read;
    const { at, head } = await position(scheduler);
    if (head.seq !== this.#newest.seq) {
      this.#newest = { seq: head.seq, since: read };
    }
    this.#steady ??= new Steady(at, monotonic);
    this.#steady.recorded(at, monotonic);
    const remedy = this.#steady.remedy(readClock(this.#clock), monotonic, this.#trusted);
    if (remedy === undefined) {
      return undefined;
    }
    this.#showsHost = true;
    try {
      if (remedy === "report") {
        // The step sees how far the clock is behind.
        await scheduler.runUntilRest();
        return "reported";
      }
      const elapsed_ms = Math.trunc(monotonic - this.#newest.since);
      await scheduler.propose({ fact: "clock_corrected", elapsed_ms });
      this.#steady.corrected((await position(scheduler)).at, monotonic);
      return "corrected";
    } finally {
      this.#showsHost = false;
    }
  }
}

/** The newest entry, and its time. */
async function position(
  scheduler: Scheduler | AsyncScheduler,
): Promise<{ at: string; head: Head }> {
  const state: unknown = await scheduler.state();
  return state as { at: string; head: Head };
}
