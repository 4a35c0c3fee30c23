// The agent's clock: real time, or virtual time that moves only on command. It stores what it needs
// so that time never runs back.
import type { ClockMode } from "./messages.ts";

/** A store for a small text, which is written atomically when `save` returns. */
export interface TextStore {
  load(): string;
  save(text: string): void;
}

interface Stored {
  mode: ClockMode;
  /**
   * In virtual mode the current instant; in real mode the offset to the machine's clock. In
   * nanoseconds.
   */
  nanos: string;
}

/** Nanoseconds per millisecond. */
export const MS = 1_000_000n;

/** A clock for `Scheduler`: nanoseconds since the epoch. */
export class LiveClock {
  readonly #store: TextStore;
  readonly #machine: () => bigint;
  #mode: ClockMode = "real";
  #nanos = 0n;

  /**
   * A clock that continues from the stored instant. `machine` reads the machine's clock, in
   * nanoseconds since the epoch.
   */
  constructor(store: TextStore, machine: () => bigint) {
    this.#store = store;
    this.#machine = machine;
    const stored = read(store.load());
    if (stored !== null) {
      this.#mode = stored.mode;
      this.#nanos = BigInt(stored.nanos);
    }
  }

  get mode(): ClockMode {
    return this.#mode;
  }

  now(): bigint {
    return this.#mode === "virtual" ? this.#nanos : this.#machine() + this.#nanos;
  }

  /**
   * Continues in this mode from the same instant. If virtual time is ahead of real time, it stays
   * ahead.
   */
  setMode(mode: ClockMode): void {
    if (mode === this.#mode) return;
    const now = this.now();
    const ahead = now - this.#machine();
    this.#keep(mode, mode === "virtual" ? now : ahead > 0n ? ahead : 0n);
  }

  /** Moves the clock forward to this instant; an earlier one does nothing. */
  reach(at: bigint): void {
    const ahead = at - this.now();
    if (ahead > 0n) this.#keep(this.#mode, this.#nanos + ahead);
  }

  #keep(mode: ClockMode, nanos: bigint): void {
    this.#store.save(JSON.stringify({ mode, nanos: String(nanos) } satisfies Stored));
    this.#mode = mode;
    this.#nanos = nanos;
  }
}

/** The stored values. Undefined if a crash left half of them; then the ledger's time counts. */
function read(text: string): Stored | null {
  try {
    const stored: unknown = JSON.parse(text);
    const { mode, nanos } = stored as Partial<Stored>;
    return (mode === "real" || mode === "virtual") && /^-?[0-9]+$/.test(nanos ?? "")
      ? { mode, nanos: nanos ?? "" }
      : null;
  } catch {
    return null;
  }
}

/** An instant as RFC 3339 text, to the millisecond. */
export const instant = (nanos: bigint) => new Date(Number(nanos / MS)).toISOString();
