// Tests of what is opened: how files are recognised, how entries are indexed, where decisions hold.
import assert from "node:assert/strict";
import test from "node:test";

import { strToU8, zipSync } from "fflate";

import { LANES, rowOf } from "./rows.ts";
import { sourceOf } from "./source.ts";

const line = (record: object, of = "messages") => JSON.stringify({ seq: 7, at: "2026-05-27T09:00:00Z", class: of, record, chain: "c" });

test("one file is a ledger, several are a folder, an archive is what is in it", () => {
  const files = { "agent.json": strToU8("{}"), "ledger/messages.jsonl": strToU8("x"), "notes.bin": new Uint8Array([255]) };
  const folder = sourceOf("a", files);
  assert.equal(folder.kind, "fixture");
  assert.deepEqual(Object.keys(folder.kind === "fixture" ? folder.files : {}), ["agent.json", "ledger/messages.jsonl"]);
  const zipped = sourceOf("a.zip", { "a.zip": zipSync({ "case/agent.json": strToU8("{}"), "case/ledger/events.jsonl": strToU8("") }) });
  assert.deepEqual(Object.keys(zipped.kind === "fixture" ? zipped.files : {}), ["agent.json", "ledger/events.jsonl"]);
  const data = sourceOf("d", { ".holon/state/agent.json": strToU8("{}"), ".holon/ledger/events.jsonl": strToU8("") });
  assert.deepEqual(Object.keys(data.kind === "fixture" ? data.files : {}), [".holon/state/agent.json", ".holon/ledger/events.jsonl"]);
  assert.deepEqual(sourceOf("l", { "l.jsonl": strToU8("text\n") }).kind, "ledger");
  assert.throws(() => sourceOf("none", {}), /has no files/);
});

test("a file that is no text says at which byte", () => {
  const bytes = new Uint8Array([...strToU8("abcäö"), 0xff, ...strToU8("more")]);
  assert.throws(() => sourceOf("bad", { "bad.jsonl": bytes }), /`bad.jsonl` is not UTF-8 text: byte 7 /);
});

test("an entry has the lane of its class and what it is about", () => {
  const row = rowOf(line({ id: "m1", kind: "operator_prompt", body: { text: "hi" } }));
  assert.deepEqual(row, { seq: 7, at: "2026-05-27T09:00:00Z", class: "messages", says: "m1 · operator_prompt · hi", lane: LANES.indexOf("messages"), subject: "m1" });
  assert.equal(rowOf(line({ message_id: "m1", status: "processed" }, "queue_entries")).subject, "m1");
  assert.equal(rowOf(line({ kind: "x" }, "events")).lane, LANES.indexOf("runtime"));
  assert.equal(rowOf(line({}, "a_class_to_come")).subject, "");
});
