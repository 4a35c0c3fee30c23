// The ledger in one file, over real files of Node. It is the same after it is opened again, and an
// incomplete batch is absent.
import assert from "node:assert/strict";
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { root } from "./package.mjs";

const { LogLedger } = await import(new URL("target/npm/package/dist/ledger/log.js", root).href);
const { checkLedger } = await import(new URL("target/npm/package/dist/ledger/suite.js", root).href);
const { LedgerConflict, WakefulError } = await import(
  new URL("target/npm/package/dist/node.js", root).href
);

const folder = mkdtempSync(join(tmpdir(), "wakeful-log-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** A file of Node as a `SyncFile`. `trouble` may replace a call. */
function open(name, trouble = {}) {
  const file = openSync(join(folder, name), "a+");
  closeSync(file);
  const handle = openSync(join(folder, name), "r+");
  const calls = {
    read: (buffer, { at }) => readSync(handle, buffer, 0, buffer.length, at),
    write: (buffer, { at }) => writeSync(handle, buffer, 0, buffer.length, at),
    truncate: (size) => ftruncateSync(handle, size),
    flush: () => fsyncSync(handle),
    getSize: () => fstatSync(handle).size,
    close: () => closeSync(handle),
  };
  return Object.fromEntries(
    Object.entries(calls).map(([call, work]) => [
      call,
      (...args) => (trouble[call] ?? work)(...args, work),
    ]),
  );
}

const START = { seq: 0, chain: "0".repeat(64) };
const line = (seq, text = "é") =>
  `{"seq":${seq},"text":"${text}","chain":"${String(seq).padStart(64, "0")}"}`;
const head = (seq) => (seq === 0 ? START : { seq, chain: String(seq).padStart(64, "0") });

/**
 * Writes these batches (numbers of lines) into a fresh file. Returns its bytes and the end of each
 * batch.
 */
function written(name, batches) {
  writeFileSync(join(folder, name), "");
  const ledger = new LogLedger(open(name));
  const ends = [0];
  let seq = 0;
  for (const count of batches) {
    ledger.append(
      head(seq),
      Array.from({ length: count }, (_, index) => line(seq + index + 1)),
    );
    seq += count;
    ends.push(readFileSync(join(folder, name)).length);
  }
  ledger.close();
  return { bytes: readFileSync(join(folder, name)), ends };
}

test("it does what every ledger does", async () => {
  await checkLedger((agentId) => new LogLedger(open(agentId)), { exclusive: true });
});

test("what was appended is there after the file was opened again, by page", () => {
  written("again", [1, 3, 2]);
  const ledger = new LogLedger(open("again"));
  assert.equal(ledger.cut, 0);
  assert.deepEqual(
    ledger.read(0, 100),
    [1, 2, 3, 4, 5, 6].map((seq) => line(seq)),
  );
  assert.deepEqual(ledger.read(2, 2), [line(3), line(4)]);
  assert.deepEqual([ledger.read(6, 5), ledger.read(99, 5), ledger.read(0, 0)], [[], [], []]);
  ledger.append(head(6), []);
  ledger.append(head(6), [line(7, "x".repeat(3_000_000))]);
  ledger.close();
  assert.equal(new LogLedger(open("again")).read(6, 1)[0].length, line(7).length - 1 + 3_000_000);
});

test("a batch at another head is a conflict that names the end of the ledger, and stores nothing", () => {
  const { bytes } = written("conflict", [2]);
  const ledger = new LogLedger(open("conflict"));
  for (const expected of [head(1), head(3), { ...head(2), chain: "f".repeat(64) }, START]) {
    assert.throws(
      () => ledger.append(expected, [line(3)]),
      (error) => error instanceof LedgerConflict && error.found === 2,
    );
  }
  ledger.close();
  assert.deepEqual(readFileSync(join(folder, "conflict")), bytes);
});

test("wherever a crash cuts the file, complete batches stay and the last one is absent", () => {
  const { bytes, ends } = written("torn", [1, 3, 2]);
  for (let size = 0; size <= bytes.length; size += 1) {
    writeFileSync(join(folder, "torn"), bytes.subarray(0, size));
    const ledger = new LogLedger(open("torn"));
    const whole = ends.filter((end) => end <= size).length - 1;
    const lines = [0, 1, 4, 6][whole];
    assert.equal(ledger.read(0, 100).length, lines, `cut at ${size}`);
    assert.equal(ledger.cut, size - ends[whole]);
    ledger.append(head(lines), [line(lines + 1)]);
    ledger.close();
    assert.equal(
      new LogLedger(open("torn")).read(0, 100).at(-1),
      line(lines + 1),
      "and it continues from there",
    );
  }
});

test("a tail of zeros or of other bytes, as a file system leaves it after a power cut, is cut off", () => {
  const { bytes, ends } = written("garbage", [1, 3]);
  for (const tail of [
    Buffer.alloc(4096),
    Buffer.from("batch 1 99999 00000000\n{}\n"),
    Buffer.from("batch 1 3 00000000\n{}\n"),
    bytes.subarray(1, ends[1]),
  ]) {
    writeFileSync(join(folder, "garbage"), Buffer.concat([bytes, tail]));
    const ledger = new LogLedger(open("garbage"));
    assert.deepEqual([ledger.read(0, 100).length, ledger.cut], [4, tail.length]);
    ledger.close();
  }
});

test("damage before a complete batch refuses to open and removes nothing, at every byte", () => {
  const { bytes, ends } = written("damage", [2, 1]);
  for (let at = 0; at < ends[1]; at += 1) {
    const damaged = Buffer.from(bytes);
    damaged[at] ^= 1;
    writeFileSync(join(folder, "damage"), damaged);
    const refused = (error) =>
      error instanceof WakefulError &&
      error.code === "cannot_open" &&
      /damaged at byte 0/.test(error.message);
    assert.throws(() => new LogLedger(open("damage")), refused, `byte ${at}`);
    assert.deepEqual(readFileSync(join(folder, "damage")), damaged);
  }
});

test("a file of something else is not overwritten", () => {
  writeFileSync(join(folder, "letter"), "Dear Sir or Madam,\n");
  assert.throws(() => new LogLedger(open("letter")), {
    code: "cannot_open",
    message: /another name/,
  });
  assert.equal(readFileSync(join(folder, "letter"), "utf8"), "Dear Sir or Madam,\n");
});

test("an append that fails leaves nothing behind, and the next one works, at every point of failure", () => {
  const full = () => {
    throw new Error("no space left on device");
  };
  for (const [call, fails] of [
    ["write", full],
    ["write", (buffer, { at }, write) => (write(buffer.subarray(0, 5), { at }), full())],
    ["write", () => 0],
    ["flush", full],
  ]) {
    for (const undo of [true, false]) {
      written("failing", [1]);
      const trouble = {};
      const ledger = new LogLedger(open("failing", trouble));
      trouble[call] = fails;
      if (!undo) {
        trouble.truncate = full;
      }
      assert.throws(() => ledger.append(head(1), [line(2), line(3)]), /no space|storage is full/);
      delete trouble[call];
      delete trouble.truncate;
      assert.deepEqual(ledger.read(0, 10), [line(1)]);
      ledger.append(head(1), [line(2)]);
      ledger.close();
      const again = new LogLedger(open("failing"));
      assert.deepEqual([again.read(0, 10), again.cut], [[line(1), line(2)], 0]);
      again.close();
    }
  }
});

test("a file that reads and writes few bytes at a time is read and written completely", () => {
  written("slow", [1, 2]);
  const few = (buffer, options, work) => work(buffer.subarray(0, 7), options);
  const ledger = new LogLedger(open("slow", { read: few, write: few }));
  ledger.append(head(3), [line(4)]);
  assert.deepEqual(
    ledger.read(0, 10),
    [1, 2, 3, 4].map((seq) => line(seq)),
  );
  ledger.close();
  assert.equal(new LogLedger(open("slow")).read(0, 10).length, 4);
});

test("a full storage is said as such in each way that browsers say it, and stores nothing", () => {
  const full = () => {
    throw new DOMException("No space available for this operation", "QuotaExceededError");
  };
  for (const [name, write] of [
    ["throws", full],
    ["takes nothing", () => 0],
    // Chromium in a private window: an error number as an unsigned one, after a part was written.
    ["counts wrong", (buffer, at, work) => (work(buffer.subarray(0, 9), at), 2 ** 32 - 8)],
  ]) {
    const trouble = {};
    const ledger = new LogLedger(open(`full-${name}`, trouble));
    ledger.append(START, [line(1)]);
    trouble.write = write;
    assert.throws(
      () => ledger.append(head(1), [line(2)]),
      (error) =>
        error instanceof WakefulError &&
        error.code === "ledger_failed" &&
        error.cause.name === "QuotaExceededError" &&
        /the storage is full, so nothing of this batch was stored/.test(error.message),
      name,
    );
    assert.deepEqual(ledger.read(0, 9), [line(1)], name);
    delete trouble.write;
    ledger.append(head(1), [line(2)]);
    assert.deepEqual(ledger.read(0, 9), [line(1), line(2)], `${name}: with space it goes on`);
    ledger.close();
  }
});
