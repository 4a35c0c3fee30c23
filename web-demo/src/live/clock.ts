// The agent's clock: real time, or virtual time that stands until it is moved. What is needed for
// time never to run back is stored.
import type { ClockMode } from "./messages.ts";

/** Where a small text is kept, whole or as it was before; written when `save` returns. */
export interface TextStore {
  load(): string;
  save(text: string): void;
}

interface Stored {
  mode: ClockMode;
  /**
   * In virtual mode, where time stands; in real mode, by how much it is ahead of the machine's.
   * Nanoseconds.
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
   * A clock that goes on where the store left it. `machine` reads the machine's clock, in
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
   * Goes on in this mode from the same instant. Real time that virtual time has passed stays ahead
   * by as much.
   */
  setMode(mode: ClockMode): void {
    if (mode === this.#mode) return;
    const now = this.now();
    const ahead = now - this.#machine();
    this.#keep(mode, mode === "virtual" ? now : ahead > 0n ? ahead : 0n);
  }

  /** Moves the clock on to this instant; one that it has passed does nothing. */
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

/** What was stored; nothing where a crash left half of it: the ledger's own time holds then. */
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
