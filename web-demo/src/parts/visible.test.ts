// Tests of texts whose unseen characters are written out.
import assert from "node:assert/strict";
import test from "node:test";

import { rowOf, subjectOf } from "../document/rows.ts";
import { inSeconds, shortened, visible, visibleIn } from "./visible.ts";

test("what a page obeys and a reader does not see is written out", () => {
  for (const [text, shown] of [
    ["plain ÄÖ 漢 🎉", "plain ÄÖ 漢 🎉"],
    ["two\nlines\tand a tab", "two\nlines\tand a tab"],
    ["👩\u200d🚀", "👩\u200d🚀"],
    ["\u001b[31mred", "\\u001b[31mred"],
    ["\r", "\\u000d"],
    ["a\u007fb\u009bc", "a\\u007fb\\u009bc"],
    ["invoice\u202efdp.exe", "invoice\\u202efdp.exe"],
    ["\u2066x\u2069", "\\u2066x\\u2069"],
    ["\ufeff\u200b", "\\ufeff\\u200b"],
    ["\u{e0041}", "\\udb40\\udc41"],
  ] as const) {
    assert.equal(visible(text), shown);
  }
});

test("it is written out in all texts and names of a value", () => {
  const value = { "a\u202e": ["\u001b", { deep: "\u0000", number: 7, none: null }] };
  assert.deepEqual(visibleIn(value), {
    "a\\u202e": ["\\u001b", { deep: "\\u0000", number: 7, none: null }],
  });
});

test("an entry is indexed without unseen characters", () => {
  const record = { id: "m\u202e1", body: { type: "text", text: "\u001b]0;title\u0007" } };
  const line = JSON.stringify({ seq: 7, at: "2026-05-27T09:00:00Z", class: "messages", record });
  const row = rowOf(line);
  assert.equal(subjectOf({ class: "messages", record }), "m\\u202e1");
  assert.match(row.says, /\\u001b\]0;title\\u0007/);
});

test("a long id keeps its beginning and its end", () => {
  const id = "0123456789".repeat(8);
  assert.equal(shortened("short"), "short");
  assert.equal(shortened(id).length, 36);
  assert.ok(id.startsWith(shortened(id).split("…")[0] ?? "?"));
  assert.ok(id.endsWith(shortened(id).split("…")[1] ?? "?"));
});

test("instants are shown in seconds", () => {
  const says = "a wake was due at 2026-11-28T04:37:50.249849511Z, version 1.25";
  assert.equal(inSeconds(says), "a wake was due at 2026-11-28T04:37:50Z, version 1.25");
  assert.equal(inSeconds("at 2026-05-27T09:20:00Z."), "at 2026-05-27T09:20:00Z.");
});
