// The lines of a ledger as bytes. A text of all of them would not fit: the longest string of a
// browser has half a GB, and a string needs up to twice the bytes.

/** The bytes of a part. No line crosses a border of parts. */
const PART = 4 << 20;

/** The most bytes of a page, unless its first line alone has more. */
const PAGE = 1 << 20;

const NEWLINE = 10;

/** Whole lines of a page, each ended by a newline. */
export interface Page {
  bytes: Uint8Array;
  /** The number of lines. */
  lines: number;
}

/** A part: its lines, each ended by a newline. */
interface Part {
  bytes: Uint8Array;
  /** The number of bytes in use. */
  used: number;
  /** The index of its first line. */
  first: number;
}

/** The beginning of a ledger that is read later: after its end, or when a person asks for it. */
interface Late {
  /** The number of its lines. */
  count: number;
  /** The lines after it. */
  tail: Lines;
  /** Adds lines of the beginning until there are this many. */
  fill: (into: Lines, to: number) => void;
}

/** The lines that are read at once of a beginning that is read late. */
const AT_ONCE = 512;

/** Lines that grow at their end. */
export class Lines {
  #parts: Part[] = [];
  /** The position in its part at which each line begins. */
  #starts = new Uint32Array(1024);
  #length = 0;
  /** The beginning of a line whose end was not read yet. */
  #rest: Uint8Array[] = [];
  #late: Late | null = null;
  #isFilling = false;

  /** Lines whose end is there, and whose first `count` lines are read later. */
  static late(count: number, tail: Lines, fill: Late["fill"]): Lines {
    const lines = new Lines();
    lines.#late = { count, tail, fill };
    return lines;
  }

  get length(): number {
    return this.#late === null ? this.#length : this.#late.count + this.#late.tail.length;
  }

  /** The number of bytes of all lines that were read, with their newlines. */
  get size(): number {
    const own = this.#parts.reduce((sum, { used }) => sum + used, 0);
    return own + (this.#late?.tail.size ?? 0);
  }

  /** The number of lines that were read of a beginning that is read late. */
  get read(): number {
    return this.#length;
  }

  /** A line without its newline. */
  line(index: number): string {
    return TEXT.decode(this.raw(index));
  }

  /** The bytes of a line, without a copy. */
  raw(index: number): Uint8Array {
    const late = this.#reaching(index);
    if (late !== null) {
      return late.tail.raw(index - late.count);
    }
    const part = this.#partOf(index);
    return part === undefined
      ? new Uint8Array()
      : part.bytes.subarray(this.#starts[index], this.#endIn(part, index) - 1);
  }

  /** Adds a line. */
  push(line: string | Uint8Array): void {
    const bytes = typeof line === "string" ? UTF8.encode(line) : line;
    if (this.#late !== null && !this.#isFilling) {
      this.#late.tail.push(bytes);
      return;
    }
    const into = this.#roomFor(bytes.length + 1);
    into.bytes.set(bytes, into.used);
    this.#ended(into, bytes.length);
  }

  /** Adds a line that was stored in two pieces. */
  pushJoined(beginning: Uint8Array, end: Uint8Array): void {
    const length = beginning.length + end.length;
    const into = this.#roomFor(length + 1);
    into.bytes.set(beginning, into.used);
    into.bytes.set(end, into.used + beginning.length);
    this.#ended(into, length);
  }

  /** Adds the next bytes of a file, whose lines end anywhere. Blank lines are left out. */
  feed(bytes: Uint8Array): void {
    let from = 0;
    for (;;) {
      const end = bytes.indexOf(NEWLINE, from);
      if (end === -1) {
        break;
      }
      this.#whole(bytes.subarray(from, end));
      from = end + 1;
    }
    if (from < bytes.length) {
      this.#rest.push(bytes.slice(from));
    }
  }

  /** Adds the last line of a file, which may have no newline. */
  flush(): void {
    if (this.#rest.length > 0) {
      this.#whole(new Uint8Array());
    }
  }

  /** Removes the lines after the first `length`. */
  cut(length: number): void {
    if (length >= this.length) {
      return;
    }
    if (this.#late !== null) {
      this.#reaching(this.#late.count - 1);
    }
    let last = this.#parts.at(-1);
    while (last !== undefined && last.first >= length) {
      this.#parts.pop();
      this.#length = last.first;
      last = this.#parts.at(-1);
    }
    if (last !== undefined) {
      last.used = this.#endIn(last, length - 1);
    }
    this.#length = length;
  }

  /** The bytes of the lines from `from` to before `to`, in parts and without a copy. */
  bytes(from: number, to: number): Uint8Array[] {
    const found: Uint8Array[] = [];
    if (this.#late !== null) {
      this.#reaching(this.#late.count - 1);
    }
    let at = from;
    const end = Math.min(to, this.#length);
    while (at < end) {
      const part = this.#partOf(at);
      if (part === undefined) {
        break;
      }
      const last = Math.min(end, this.#firstAfter(part)) - 1;
      found.push(part.bytes.subarray(this.#starts[at], this.#endIn(part, last)));
      at = last + 1;
    }
    return found;
  }

  /**
   * The lines after the first `after`: at most `limit`, and about 1 MB, but at least one if there
   * is one.
   */
  page(after: number, limit: number): Page {
    const late = this.#reaching(after);
    if (late !== null) {
      return late.tail.page(after - late.count, limit);
    }
    const part = this.#partOf(after);
    if (part === undefined || limit === 0) {
      return { bytes: new Uint8Array(), lines: 0 };
    }
    const start = this.#starts[after] ?? 0;
    let last = Math.min(after + limit, this.#firstAfter(part)) - 1;
    while (last > after && this.#endIn(part, last) - start > PAGE) {
      last = after + ((last - after) >> 1);
    }
    return {
      bytes: part.bytes.subarray(start, this.#endIn(part, last)),
      lines: last - after + 1,
    };
  }

  /**
   * Reads a line that is read late. Returns where the line is if it is in the tail; null if it is
   * among the own lines.
   */
  #reaching(index: number): Late | null {
    const late = this.#late;
    if (late === null || index >= late.count) {
      return late;
    }
    if (index >= this.#length) {
      this.#isFilling = true;
      try {
        late.fill(this, Math.min(late.count, index + AT_ONCE));
      } finally {
        this.#isFilling = false;
      }
      if (this.#length >= late.count) {
        this.#late = null;
        late.tail.bytes(0, late.tail.length).forEach((part) => this.feed(part));
      }
    }
    return null;
  }

  #whole(end: Uint8Array) {
    const line = this.#rest.length === 0 ? end : joined([...this.#rest, end]);
    this.#rest = [];
    if (!isBlank(line)) {
      this.push(line);
    }
  }

  #roomFor(bytes: number): Part {
    const last = this.#parts.at(-1);
    if (last !== undefined && last.bytes.length - last.used >= bytes) {
      return last;
    }
    const size = this.#length === 0 ? Math.max(1 << 16, bytes) : Math.max(PART, bytes);
    const part = { bytes: new Uint8Array(size), used: 0, first: this.#length };
    this.#parts.push(part);
    return part;
  }

  #ended(part: Part, length: number) {
    if (this.#length === this.#starts.length) {
      const grown = new Uint32Array(this.#starts.length * 2);
      grown.set(this.#starts);
      this.#starts = grown;
    }
    this.#starts[this.#length] = part.used;
    part.bytes[part.used + length] = NEWLINE;
    part.used += length + 1;
    this.#length += 1;
  }

  #partOf(index: number): Part | undefined {
    if (index < 0 || index >= this.#length) {
      return undefined;
    }
    let [low, high] = [0, this.#parts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      [low, high] = (this.#parts[middle]?.first ?? 0) <= index ? [middle + 1, high] : [low, middle];
    }
    return this.#parts[low - 1];
  }

  /** The first line of the next part. */
  #firstAfter(part: Part): number {
    return this.#parts[this.#parts.indexOf(part) + 1]?.first ?? this.#length;
  }

  /** The position after the newline of a line. */
  #endIn(part: Part, index: number): number {
    return index + 1 < this.#firstAfter(part) ? (this.#starts[index + 1] ?? 0) : part.used;
  }
}

/** Reads a file into lines, and reports how many bytes it has read. */
export async function readLines(
  file: Blob,
  progress: (done: number) => void,
  into = new Lines(),
): Promise<Lines> {
  const reader = file.stream().getReader();
  let done = 0;
  for (;;) {
    const part = await reader.read();
    if (part.done) {
      break;
    }
    into.feed(part.value);
    done += part.value.length;
    progress(done);
  }
  into.flush();
  return into;
}

const UTF8 = new TextEncoder();
const TEXT = new TextDecoder("utf-8", { ignoreBOM: true });

/** The lines of a page as texts. */
export function textsOf(page: Page): string[] {
  return page.lines === 0 ? [] : TEXT.decode(page.bytes.subarray(0, -1)).split("\n");
}

function joined(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function isBlank(line: Uint8Array): boolean {
  // Spaces and controls. A line of a ledger begins with another byte.
  return line.every((byte) => byte <= 32);
}
