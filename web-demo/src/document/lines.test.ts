// Tests of lines as bytes: how they are split, cut and given out in pages.
import assert from "node:assert/strict";
import test from "node:test";

import { Lines, readLines, textsOf } from "./lines.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const all = (lines: Lines) => Array.from({ length: lines.length }, (_, at) => lines.line(at));

test("bytes are split at newlines wherever the file's parts end", () => {
  const text = '{"a":1}\n\n{"b":"ä€🎉"}\r\n  \n{"c":3}';
  const whole = ['{"a":1}', '{"b":"ä€🎉"}\r', '{"c":3}'];
  for (let size = 1; size <= text.length + 8; size += 1) {
    const lines = new Lines();
    const encoded = bytes(text);
    for (let at = 0; at < encoded.length; at += size) {
      lines.feed(encoded.subarray(at, at + size));
    }
    lines.flush();
    assert.deepEqual(all(lines), whole, `in parts of ${size} bytes`);
  }
});

test("a file is read into lines, with its progress", async () => {
  const told: number[] = [];
  const file = new Blob(["a\nb\n", "c\n"]);
  assert.deepEqual(all(await readLines(file, (done) => told.push(done))), ["a", "b", "c"]);
  assert.equal(told.at(-1), 6);
});

test("lines cross no border of parts, and pages are whole lines", () => {
  const lines = new Lines();
  const long = "x".repeat(900_000);
  const texts = Array.from({ length: 12 }, (_, at) => `${at}${at % 2 === 0 ? long : ""}`);
  texts.forEach((text) => lines.push(text));
  assert.deepEqual(all(lines), texts);
  assert.equal(
    lines.size,
    texts.reduce((sum, text) => sum + text.length + 1, 0),
  );
  let after = 0;
  while (after < lines.length) {
    const page = lines.page(after, 5);
    assert.ok(page.lines >= 1 && page.lines <= 5);
    assert.ok(page.lines === 1 || page.bytes.length <= 1 << 20, "a page is about 1 MB");
    assert.equal(page.bytes.at(-1), 10);
    assert.deepEqual(textsOf(page), texts.slice(after, after + page.lines));
    after += page.lines;
  }
  assert.deepEqual(lines.page(12, 5), { bytes: new Uint8Array(), lines: 0 });
  const between = lines.bytes(1, 11).map((part) => new TextDecoder().decode(part));
  assert.equal(
    between.join(""),
    texts
      .slice(1, 11)
      .map((text) => `${text}\n`)
      .join(""),
  );
  lines.pushJoined(bytes("be"), bytes("gin"));
  assert.equal(lines.line(12), "begin");
});

test("lines are cut, and grow again", () => {
  const lines = new Lines();
  const texts = Array.from({ length: 3_000 }, (_, at) => `${at} ${"y".repeat(3_000)}`);
  texts.forEach((text) => lines.push(text));
  for (const length of [2_999, 1_400, 1, 0]) {
    lines.cut(length);
    assert.deepEqual(all(lines), texts.slice(0, length));
    lines.push("more");
    assert.equal(lines.line(length), "more");
    lines.cut(length);
  }
  assert.equal(lines.size, 0);
});
