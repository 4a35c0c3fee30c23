// The index of a ledger: four numbers per entry, in typed arrays. A million entries are 17 MB, and
// as objects they would be several hundred.

/** The lanes of the timeline, from top to bottom. */
export const LANES = [
  "Messages",
  "Turns",
  "Tasks",
  "Work items",
  "Waits and timers",
  "Runtime",
] as const;

/** The index of some entries, as the worker sends it. */
export interface Part {
  /** The entry before its first one. */
  after: number;
  /** The instants, in milliseconds since the epoch. */
  at: Float64Array;
  /** The classes, as positions in `classes`. */
  of: Uint8Array;
  /** The lanes, as positions in `LANES`. */
  lane: Uint8Array;
  /** What an entry is about: a number per subject and lane; 0 if it is about nothing. */
  subject: Uint32Array;
  /** 1 if the subject of an entry goes on after it, as its record says; else 0. */
  goesOn: Uint8Array;
  /** All names of classes that are known so far. */
  classes: string[];
}

/** The buffers of a part, which move to the page without a copy. */
export function buffersOf({ at, of, lane, subject, goesOn }: Part): ArrayBuffer[] {
  return [at, of, lane, subject, goesOn].map(({ buffer }) => buffer as ArrayBuffer);
}

/** An empty part for this number of entries. */
export function partFor(after: number, count: number, classes: string[]): Part {
  return {
    after,
    at: new Float64Array(count),
    of: new Uint8Array(count),
    lane: new Uint8Array(count),
    subject: new Uint32Array(count),
    goesOn: new Uint8Array(count),
    classes,
  };
}

/** The index in the page. It grows while the worker reads on. */
export class Index {
  /** The number of entries that are indexed. */
  length = 0;
  /** The highest number of a subject. */
  subjects = 0;
  at = new Float64Array(0);
  of = new Uint8Array(0);
  lane = new Uint8Array(0);
  subject = new Uint32Array(0);
  goesOn = new Uint8Array(0);
  classes: string[] = [];
  readonly #heard = new Set<() => void>();

  /** Adds a part, which must continue the index. */
  add(part: Part): void {
    if (part.after !== this.length) {
      throw new Error(`the index has ${this.length} entries, and a part continues ${part.after}`);
    }
    const length = this.length + part.at.length;
    this.at = grown(this.at, length);
    this.of = grown(this.of, length);
    this.lane = grown(this.lane, length);
    this.subject = grown(this.subject, length);
    this.goesOn = grown(this.goesOn, length);
    this.at.set(part.at, this.length);
    this.of.set(part.of, this.length);
    this.lane.set(part.lane, this.length);
    this.subject.set(part.subject, this.length);
    this.goesOn.set(part.goesOn, this.length);
    for (const subject of part.subject) {
      this.subjects = Math.max(this.subjects, subject);
    }
    this.classes = part.classes;
    this.length = length;
    this.#heard.forEach((hear) => hear());
  }

  /** Calls back after each change. Returns a function that ends this. */
  readonly subscribe = (hear: () => void): (() => void) => {
    this.#heard.add(hear);
    return () => void this.#heard.delete(hear);
  };

  /** The instant of an entry as RFC 3339; empty if it is not known yet. */
  instant(seq: number): string {
    const at = seq >= 1 && seq <= this.length ? this.at[seq - 1] : undefined;
    return at === undefined || Number.isNaN(at) ? "" : new Date(at).toISOString();
  }

  /** The class of an entry; empty if it is not known yet. */
  classOf(seq: number): string {
    return seq >= 1 && seq <= this.length ? (this.classes[this.of[seq - 1] ?? 0] ?? "") : "";
  }

  /** The entries by their instants; entries of one instant stay in their order. */
  byInstant(): Uint32Array {
    const order = Uint32Array.from({ length: this.length }, (_, at) => at + 1);
    const { at } = this;
    return order.sort((left, right) => (at[left - 1] ?? 0) - (at[right - 1] ?? 0) || left - right);
  }
}

/** The same array with room for `length`; its capacity doubles. */
function grown<T extends Float64Array | Uint8Array | Uint32Array>(array: T, length: number): T {
  if (length <= array.length) {
    return array;
  }
  const more = new (array.constructor as new (length: number) => T)(
    Math.max(length, array.length * 2, 1024),
  );
  more.set(array);
  return more;
}

/** The number of rows per lane; more bars share the rows. */
export const ROWS = 3;

/**
 * The bars of the timeline: each thing in its lane, from its first entry to its last, or to the end
 * if it goes on.
 */
export interface Bars {
  length: number;
  from: Uint32Array;
  to: Uint32Array;
  lane: Uint8Array;
  /** The row within the lane, so that overlapping bars are visible. */
  row: Uint8Array;
  /** The number of rows of each lane. */
  rows: number[];
}

/** The bars of what is indexed. */
export function barsOf(index: Index): Bars {
  const { length: entries, lane: lanes, subject: about, subjects, goesOn } = index;
  const [from, to] = [new Uint32Array(entries), new Uint32Array(entries)];
  const [lane, row] = [new Uint8Array(entries), new Uint8Array(entries)];
  /** The bar of each subject, counted from 1. */
  const barOf = new Uint32Array(subjects + 1);
  let length = 0;
  for (let at = 0; at < entries; at += 1) {
    const subject = about[at] ?? 0;
    const bar = barOf[subject] ?? 0;
    if (subject !== 0 && bar !== 0) {
      to[bar - 1] = goesOn[at] === 1 ? entries : at + 1;
      continue;
    }
    from[length] = at + 1;
    to[length] = subject !== 0 && goesOn[at] === 1 ? entries : at + 1;
    lane[length] = lanes[at] ?? 0;
    length += 1;
    // The number 0 stands for no subject: such an entry has its own bar.
    barOf[subject] = length;
  }
  // Each bar takes the first free row, or else the one that is free the soonest.
  const ends = new Uint32Array(LANES.length * ROWS);
  for (let bar = 0; bar < length; bar += 1) {
    const begin = (lane[bar] ?? 0) * ROWS;
    let best = 0;
    for (let next = 0; next < ROWS; next += 1) {
      const end = ends[begin + next] ?? 0;
      if (end < (from[bar] ?? 0)) {
        best = next;
        break;
      }
      if (end < (ends[begin + best] ?? 0)) {
        best = next;
      }
    }
    row[bar] = best;
    ends[begin + best] = Math.max(to[bar] ?? 0, ends[begin + best] ?? 0);
  }
  const rows = LANES.map((_, lane) =>
    Math.max(1, ends.subarray(lane * ROWS, (lane + 1) * ROWS).filter((end) => end > 0).length),
  );
  return { length, from, to, lane, row, rows };
}
