// Tests of documents: how entries are indexed and drawn, and what a link carries.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { DECISIONS } from "../case/labels.ts";
import { carried, carrying } from "../parts/permalink.ts";
import { barsOf, Index, LANES } from "./index.ts";
import { Lines } from "./lines.ts";
import { importOf, Indexer, rowOf } from "./rows.ts";

const line = (record: object, of = "messages") =>
  JSON.stringify({ seq: 7, at: "2026-05-27T09:00:00Z", class: of, record, chain: "c" });

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

test("an entry is indexed by its instant, class, lane and subject", () => {
  const lines = new Lines();
  lines.push(line({ id: "m1", kind: "operator_prompt", body: { text: "hi" } }));
  lines.push(line({ message_id: "m1", status: "processed" }, "queue_entries"));
  lines.push(line({ kind: "x" }, "events"));
  lines.push(line({ id: "m1" }, "tasks"));
  lines.push(line({}, "a_class_to_come"));
  const index = new Index();
  const indexer = new Indexer(null);
  index.add(indexer.part(lines, 0, 2));
  index.add(indexer.part(lines, 2, 5));
  const lane = (name: (typeof LANES)[number]) => LANES.indexOf(name);
  assert.deepEqual(
    [...index.lane.subarray(0, 5)],
    [lane("Messages"), lane("Messages"), lane("Runtime"), lane("Tasks"), lane("Runtime")],
  );
  assert.deepEqual([...index.subject.subarray(0, 5)], [1, 1, 0, 2, 0], "a lane has its subjects");
  assert.equal(index.classOf(2), "queue_entries");
  assert.equal(index.instant(5), "2026-05-27T09:00:00.000Z");
  assert.deepEqual([index.classOf(6), index.instant(6)], ["", ""]);
  assert.equal(
    rowOf(lines.line(0)).says,
    "m1 · operator_prompt · hi",
    "what it says is read when a person looks at it",
  );
});

test("a thing has one bar, and bars that overlap have rows", () => {
  const lines = new Lines();
  for (const id of ["a", "b", "c", "d", "a", "b", "c", "d", "e"]) {
    lines.push(line({ id }));
  }
  lines.push(line({ kind: "x" }, "events"));
  const index = new Index();
  index.add(new Indexer(null).part(lines, 0, lines.length));
  const { length, from, to, row, rows } = barsOf(index);
  assert.equal(length, 6);
  assert.deepEqual([...from.subarray(0, length)], [1, 2, 3, 4, 9, 10]);
  assert.deepEqual([...to.subarray(0, length)], [5, 6, 7, 8, 9, 10]);
  assert.deepEqual([...row.subarray(0, length)], [0, 1, 2, 0, 0, 0]);
  assert.deepEqual(rows, [3, 1, 1, 1, 1, 1]);
});

test("imported entries have their own instants, and carried ones say what they are", () => {
  const at = "2026-05-27T09:00:00Z";
  const lines = new Lines();
  lines.push(line({ control: "genesis" }, "control"));
  lines.push(line({ control: "agent_imported" }, "control"));
  lines.push(line({ id: "w", updated_at: "2026-01-03T00:00:00Z", created_at: at }, "work_items"));
  const carriedLine = { created_at: "2026-01-02T00:00:00Z", text: "Completed." };
  lines.push(line({ of_class: "delivery_summaries", line: carriedLine }, "carried"));
  const imported = importOf(lines);
  assert.equal(imported, at);
  const index = new Index();
  index.add(new Indexer(imported).part(lines, 0, 4));
  assert.deepEqual([...index.byInstant()], [4, 3, 1, 2]);
  assert.equal(index.instant(3), "2026-01-03T00:00:00.000Z");
  const row = rowOf(lines.line(3), imported);
  assert.equal(row.at, "2026-01-02T00:00:00Z");
  assert.equal(row.says, "carried: delivery_summaries, not read · Completed.");
  assert.equal(rowOf(lines.line(2), "2026-02-02T00:00:00Z").at, at, "recorded here");
});
