// Tests of documents: how files are recognised, how entries are indexed, from which entry a
// decision holds.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { strToU8, zipSync } from "fflate";

import { DECISIONS } from "../case/labels.ts";
import { carried, carrying } from "../parts/permalink.ts";
import { LANES, rowOf } from "./rows.ts";
import { chosen, MOST_BYTES, sourceOf } from "./source.ts";

const line = (record: object, of = "messages") =>
  JSON.stringify({ seq: 7, at: "2026-05-27T09:00:00Z", class: of, record, chain: "c" });

test("one file is a ledger, several are a folder, an archive is its content", () => {
  const files = {
    "agent.json": strToU8("{}"),
    "ledger/messages.jsonl": strToU8("x"),
    "notes.bin": new Uint8Array([255]),
  };
  const folder = sourceOf("a", files);
  assert.equal(folder.kind, "fixture");
  assert.deepEqual(Object.keys(folder.kind === "fixture" ? folder.files : {}), [
    "agent.json",
    "ledger/messages.jsonl",
  ]);
  const zipped = sourceOf("a.zip", {
    "a.zip": zipSync({ "case/agent.json": strToU8("{}"), "case/ledger/events.jsonl": strToU8("") }),
  });
  assert.deepEqual(Object.keys(zipped.kind === "fixture" ? zipped.files : {}), [
    "agent.json",
    "ledger/events.jsonl",
  ]);
  const data = sourceOf("d", {
    ".holon/state/agent.json": strToU8("{}"),
    ".holon/ledger/events.jsonl": strToU8(""),
  });
  assert.deepEqual(Object.keys(data.kind === "fixture" ? data.files : {}), [
    ".holon/state/agent.json",
    ".holon/ledger/events.jsonl",
  ]);
  assert.equal(sourceOf("l", { "l.jsonl": strToU8(`${line({})}\n`) }).kind, "ledger");
  assert.equal(sourceOf("l", { "l.jsonl": strToU8("\n") }).kind, "ledger", "which has no entries");
  assert.equal(sourceOf("s", { "s.json": strToU8('{\n  "story": "s"\n}\n') }).kind, "story");
  assert.throws(
    () => sourceOf("a", { "a.sqlite": strToU8("SQLite format 3\0") }),
    /wakeful log a\.sqlite --json/,
  );
  assert.throws(
    () => sourceOf("a", { "a.toml": strToU8('story = "a"\n') }),
    /wakeful export a\.toml -o FOLDER/,
  );
  assert.throws(
    () => sourceOf("n", { "notes.md": strToU8("# Notes\n") }),
    /`notes\.md` cannot be opened here/,
  );
  assert.throws(() => sourceOf("none", {}), /has no files/);
});

test("a link carries a small ledger, and is empty if it would be too long", () => {
  const sent = { name: "a/b ü", ledger: `${line({ id: "m1" })}\n`.repeat(40) };
  const fragment =
    carrying(sent, 7, { why: "why-not", edition: undefined }) ?? assert.fail("it is short enough");
  assert.deepEqual(carried(fragment), sent);
  assert.equal(carried("#heartbeat/3"), null);
  assert.throws(() => carried(fragment.slice(0, -9)));
  const noise = Array.from({ length: 60_000 }, (_, at) => Math.sin(at).toString(36)).join("");
  assert.equal(carrying({ name: "a", ledger: noise }, 1, {}), null);
});

test("a file that is not text is refused with the byte", () => {
  const bytes = new Uint8Array([...strToU8("abcäö"), 0xff, ...strToU8("more")]);
  assert.throws(
    () => sourceOf("bad", { "bad.jsonl": bytes }),
    /`bad.jsonl` is not UTF-8 text: byte 7 /,
  );
});

test("a file that is too large for a tab is refused before it is read", async () => {
  const file = (name: string, bytes: number) =>
    Object.defineProperties(new File(["x"], name), {
      size: { value: bytes },
      webkitRelativePath: { value: "" },
    });
  await assert.rejects(
    chosen([file("large.jsonl", MOST_BYTES + 1)]),
    /120\.0 MB are more than a tab can hold; it opens up to 120\.0 MB/,
  );
  assert.deepEqual(Object.keys((await chosen([file("small.jsonl", 1)])).files), ["small.jsonl"]);
});

test("the page knows decisions and rules only as labels", async () => {
  const source = fileURLToPath(new URL("../../src/", import.meta.url));
  const files = (await readdir(source, { recursive: true })).filter(
    (file) => /\.tsx?$/.test(file) && !/labels\.ts$|\.test\.ts$/.test(file),
  );
  assert.ok(files.length > 20, "the page's files are found");
  const rules = /["'`]\d\.[a-z]+(_[a-z]+)*["'`]/;
  for (const file of files) {
    const text = await readFile(`${source}${file}`, "utf8");
    const named = Object.keys(DECISIONS).filter((decision) =>
      new RegExp(`["'\`]${decision}["'\`]`).test(text),
    );
    // The first question of a pane is a default, not a rule.
    assert.deepEqual(named, file.endsWith("why-not-pane.tsx") ? ["StartModelTurn"] : [], file);
    assert.doesNotMatch(text, rules, file);
  }
});

test("an entry has the lane of its class and its subject", () => {
  const row = rowOf(line({ id: "m1", kind: "operator_prompt", body: { text: "hi" } }));
  assert.deepEqual(row, {
    seq: 7,
    at: "2026-05-27T09:00:00Z",
    class: "messages",
    says: "m1 · operator_prompt · hi",
    lane: LANES.indexOf("Messages"),
    subject: "m1",
  });
  assert.equal(
    rowOf(line({ message_id: "m1", status: "processed" }, "queue_entries")).subject,
    "m1",
  );
  assert.equal(rowOf(line({ kind: "x" }, "events")).lane, LANES.indexOf("Runtime"));
  assert.equal(rowOf(line({}, "a_class_to_come")).subject, "");
});
