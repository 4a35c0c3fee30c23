/**
 * A ledger in one file: batches one after the other, each complete or absent.
 *
 * @packageDocumentation
 */
import { WakefulError } from "../error.js";
import type { Ledger } from "../guest/wakeful_web.js";
import type { Head } from "../payloads.js";
import { crc32 } from "./crc32.js";
import { LedgerConflict } from "./memory.mjs";

/**
 * A file that is open for one writer, and on the disk when `flush` returns, such as an OPFS access
 * handle. Positions are in bytes.
 */
export interface SyncFile {
  /** Reads into the buffer. Returns the number of bytes. */
  read(buffer: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  /** Writes the buffer. Returns the number of bytes written. */
  write(buffer: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  /** Sets the length of the file. */
  truncate(size: number): void;
  /** Writes everything to the disk. */
  flush(): void;
  /** The length of the file. */
  getSize(): number;
  /** Closes it. */
  close(): void;
}

/**
 * Each batch begins with a line: a word, the numbers of lines and bytes that follow, and their
 * CRC-32.
 */
const HEADER = /^batch ([0-9]{1,10}) ([0-9]{1,15}) ([0-9a-f]{8})\n/;
const LONGEST_HEADER = 64;
const NEWLINE = 10;
const MARK = new TextEncoder().encode("batch ");
const WINDOW = 1 << 20;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** A batch in the file: the positions of its first and last byte. */
interface Batch {
  starts: number[];
  end: number;
}

/**
 * Keeps the lines of one agent in a file. A crash can leave an incomplete batch at the end, whose
 * length or checksum does not fit; it is removed when the file is opened again. If a complete batch
 * follows, the file is damaged and does not open.
 */
export class LogLedger implements Ledger {
  /** The number of bytes of an incomplete batch that were removed when the file was opened. */
  readonly cut: number;
  readonly #file: SyncFile;
  /** The position of each line, and of the next one. */
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  #size = 0;
  #chain = "0".repeat(64);

  /**
   * Reads the file. No other writer may use it while this ledger is open.
   *
   * @throws A `WakefulError` with the code "cannot_open" if the file is not such a log, or is
   * damaged before its end.
   */
  constructor(file: SyncFile) {
    this.#file = file;
    const length = file.getSize();
    for (
      let batch = this.#batchAt(0, length);
      batch !== undefined;
      batch = this.#batchAt(this.#size, length)
    ) {
      this.#keep(batch);
    }
    this.cut = length - this.#size;
    if (this.cut > 0) {
      // Before anything is cut: damage in the middle must not look like an incomplete end.
      this.#refuseDamage(length);
      file.truncate(this.#size);
      file.flush();
    }
    this.#chain =
      this.#lines(this.#starts.length - 1, this.#starts.length)[0]?.slice(-66, -2) ?? this.#chain;
  }

  /** Stores a batch after the entry `expected`, all or nothing, on the disk when it returns. */
  append(expected: Head, batch: string[]): void {
    if (expected.seq !== this.#starts.length || expected.chain !== this.#chain) {
      throw new LedgerConflict(this.#starts.length);
    }
    const newest = batch.at(-1);
    if (newest === undefined) {
      return;
    }
    const text = encoder.encode(batch.map((line) => `${line}\n`).join(""));
    const header = encoder.encode(
      `batch ${batch.length} ${text.length} ${crc32(text).toString(16).padStart(8, "0")}\n`,
    );
    const bytes = new Uint8Array(header.length + text.length);
    bytes.set(header);
    bytes.set(text, header.length);
    // Remove what a failed append left behind.
    if (this.#file.getSize() !== this.#size) {
      this.#file.truncate(this.#size);
    }
    try {
      this.#writeAll(bytes);
      this.#file.flush();
    } catch (error) {
      this.#undo();
      throw notStored(error);
    }
    // Only now, because a batch that is not on the disk is not part of the ledger.
    this.#keep(linesIn(text, this.#size + header.length));
    this.#chain = newest.slice(-66, -2);
  }

  /** Up to `limit` lines after the position `after`, in order. */
  read(after: number, limit: number): string[] {
    return this.#lines(after, Math.min(after + limit, this.#starts.length));
  }

  /** Closes the file. */
  close(): void {
    this.#file.close();
  }

  #keep({ starts, end }: Batch): void {
    for (const [index, start] of starts.entries()) {
      this.#starts.push(start);
      this.#ends.push((starts[index + 1] ?? end) - 1);
    }
    this.#size = end;
  }

  #lines(from: number, to: number): string[] {
    const [start, end] = [this.#starts[from], this.#ends[to - 1]];
    if (start === undefined || end === undefined || from >= to) {
      return [];
    }
    const bytes = this.#bytes(start, end);
    return this.#starts
      .slice(from, to)
      .map((line, index) =>
        decoder.decode(bytes.subarray(line - start, (this.#ends[from + index] ?? end) - start)),
      );
  }

  /**
   * The batch that begins there. `undefined` if its header, length or checksum does not fit.
   */
  #batchAt(at: number, length: number): Batch | undefined {
    const header = HEADER.exec(
      decoder.decode(this.#bytes(at, Math.min(at + LONGEST_HEADER, length))),
    );
    if (header === null) {
      return undefined;
    }
    const [line, count, size, checksum] = header;
    const start = at + line.length;
    const end = start + Number(size);
    if (end > length) {
      return undefined;
    }
    const text = this.#bytes(start, end);
    const batch = linesIn(text, start);
    const isWhole =
      batch.starts.length === Number(count) &&
      text.at(-1) === NEWLINE &&
      crc32(text) === Number.parseInt(checksum ?? "", 16);
    return isWhole ? batch : undefined;
  }

  /** Throws if a complete batch follows an incomplete one. */
  #refuseDamage(length: number): void {
    const damaged = this.#size;
    for (let at = damaged; at < length; at += WINDOW) {
      // Windows overlap, so that a mark that lies across two of them is found.
      const bytes = this.#bytes(at, Math.min(at + WINDOW + LONGEST_HEADER, length));
      for (let mark = find(bytes, MARK, 0); mark >= 0; mark = find(bytes, MARK, mark + 1)) {
        // The incomplete batch begins with a mark too.
        if (at + mark > damaged && this.#batchAt(at + mark, length) !== undefined) {
          const message = `the log is damaged at byte ${damaged}, and a complete batch follows at byte ${at + mark}: restore a copy of it`;
          throw new WakefulError("cannot_open", message);
        }
      }
    }
    // A file of another program must not be cut. A mark that a crash cut short is still ours.
    if (
      damaged === 0 &&
      find(this.#bytes(0, Math.min(MARK.length, length)), MARK.subarray(0, length), 0) !== 0
    ) {
      throw new WakefulError("cannot_open", "the file is not a log: use another name");
    }
  }

  #bytes(from: number, to: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(to - from);
    for (let done = 0; done < bytes.length;) {
      const read = this.#file.read(bytes.subarray(done), { at: from + done });
      if (read === 0) {
        throw new WakefulError(
          "ledger_failed",
          `the file ends before byte ${to}: another program has written it`,
        );
      }
      done += read;
    }
    return bytes;
  }

  #writeAll(bytes: Uint8Array<ArrayBuffer>): void {
    for (let done = 0; done < bytes.length;) {
      const rest = bytes.subarray(done);
      const written = this.#file.write(rest, { at: this.#size + done });
      // In a private window, Chromium answers a full storage with 2^32 - 8 instead of an error.
      if (written === 0 || written > rest.length) {
        throw new DOMException("the file takes no more bytes", "QuotaExceededError");
      }
      done += written;
    }
  }

  #undo(): void {
    try {
      this.#file.truncate(this.#size);
      this.#file.flush();
    } catch {
      // The next append or the next opening removes it.
    }
  }
}

/** The error of an append. A full storage is said in words: a browser only gives it a name. */
function notStored(error: unknown): unknown {
  if (error instanceof Error && error.name === "QuotaExceededError") {
    const message =
      "the storage is full, so nothing of this batch was stored: " +
      "free some space, then append it again";
    return new WakefulError("ledger_failed", message, { cause: error });
  }
  return error;
}

/** The positions of the lines of a batch whose text begins at this position. */
function linesIn(text: Uint8Array, at: number): Batch {
  const starts: number[] = [];
  for (let start = 0; start < text.length;) {
    starts.push(at + start);
    const newline = text.indexOf(NEWLINE, start);
    start = newline < 0 ? text.length : newline + 1;
  }
  return { starts, end: at + text.length };
}

/** The first position of the pattern at or after `from`; -1 if there is none. */
function find(bytes: Uint8Array, pattern: Uint8Array, from: number): number {
  for (
    let at = bytes.indexOf(pattern[0] ?? 0, from);
    at >= 0;
    at = bytes.indexOf(pattern[0] ?? 0, at + 1)
  ) {
    if (pattern.every((byte, index) => bytes[at + index] === byte)) {
      return at;
    }
  }
  return -1;
}
