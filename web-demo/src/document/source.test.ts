// Tests of what files are recognised as: ledgers, stories, folders, archives and stores.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { strToU8, zipSync } from "fflate";

import { chosen, MOST_BYTES, type Files } from "./files.ts";
import { sourceOf, type Recognised } from "./source.ts";

const root = new URL("../../../", import.meta.url);

const line = (seq: number, agent = "a") =>
  JSON.stringify({
    seq,
    at: `2026-05-27T09:00:0${seq}Z`,
    class: "control",
    record: seq === 1 ? { control: "genesis", agent_id: agent } : { control: "start_requested" },
    chain: "c",
  });
const ledger = (agent: string, entries = 3) =>
  Array.from({ length: entries }, (_, at) => `${line(at + 1, agent)}\n`).join("");

/** What these files are, with texts or bytes by path. SQLite is not asked. */
const of = (name: string, files: Record<string, string | Uint8Array>): Promise<Recognised> =>
  sourceOf(
    name,
    Object.fromEntries(
      Object.entries(files).map(([path, content]) => [path, new Blob([content as BlobPart])]),
    ),
    async () => [{ id: "stored", turns: null, entries: 7, newestAt: "2026-05-27T09:00:00Z" }],
  );

const paths = (found: Recognised) =>
  found.kind === "fixture" ? Object.keys(found.files) : assert.fail(found.kind);

test("one file is a ledger or a story, a folder is one of an agent, an archive is its content", async () => {
  const folder = { "agent.json": "{}", "ledger/messages.jsonl": "x" };
  const noise = new Uint8Array([255]);
  assert.deepEqual(paths(await of("a", { ...folder, "notes.bin": noise })), Object.keys(folder));
  const zipped = { "case/agent.json": strToU8("{}"), "case/ledger/events.jsonl": strToU8("") };
  assert.deepEqual(paths(await of("a.zip", { "a.zip": zipSync(zipped) })), [
    "agent.json",
    "ledger/events.jsonl",
  ]);
  const data = { ".holon/state/agent.json": "{}", ".holon/ledger/events.jsonl": "" };
  assert.deepEqual(paths(await of("d", data)), Object.keys(data));
  assert.equal((await of("l", { "l.jsonl": ledger("a") })).kind, "ledger");
  assert.equal((await of("l", { "l.jsonl": "\n" })).kind, "ledger", "which has no entries");
  assert.equal((await of("s", { "s.json": '{\n  "story": "s"\n}\n' })).kind, "story");
  await assert.rejects(of("n", { "notes.md": "# Notes\n" }), /`notes\.md` cannot be opened here/);
  await assert.rejects(of("none", {}), /has no files/);
});

test("a folder with several ledgers lists their agents", async () => {
  const files = {
    "one/a.jsonl": ledger("alpha"),
    "two/deep/b.jsonl": ledger("beta", 2),
    "README.md": "# Ledgers",
  };
  for (const given of [
    files,
    {
      "all.zip": zipSync(
        Object.fromEntries(Object.entries(files).map(([p, t]) => [p, strToU8(t)])),
      ),
    },
  ]) {
    const store = await of("backup", given);
    assert.ok(store.kind === "store");
    assert.deepEqual(
      store.agents.map(({ id, entries, newestAt, source }) => [id, entries, newestAt, source.name]),
      [
        ["alpha", 3, "2026-05-27T09:00:03Z", "one/a.jsonl"],
        ["beta", 2, "2026-05-27T09:00:02Z", "two/deep/b.jsonl"],
      ],
    );
  }
  const alone = await of("backup", { "one/a.jsonl": ledger("alpha"), "README.md": "# One" });
  assert.equal(alone.kind, "ledger");
});

test("a file of SQLite is opened with its WAL, and both files of a store are listed", async () => {
  const sqlite = "SQLite format 3\0 and more";
  const one = await of("x.sqlite", {
    "x.sqlite": sqlite,
    "x.sqlite-wal": "w",
    "x.sqlite-shm": "s",
  });
  assert.ok(one.kind === "sqlite");
  assert.equal(one.name, "x.sqlite");
  assert.equal(one.agent, "stored");
  assert.equal(await one.files.wal?.text(), "w");
  const two = await of("all", {
    "a/x.sqlite": sqlite,
    "b/y.sqlite": sqlite,
    "z.jsonl": ledger("z"),
  });
  assert.ok(two.kind === "store");
  assert.deepEqual(
    two.agents.map(({ source }) => (source.kind === "sqlite" ? source.files.name : source.kind)),
    ["x.sqlite", "y.sqlite", "ledger"],
  );
  await assert.rejects(
    of("x.sqlite-wal", { "x.sqlite-wal": "w" }),
    /`x\.sqlite-wal` is only a part of a ledger file: open `x\.sqlite` and `x\.sqlite-wal` together/,
  );
});

test("a file that is not text is refused with the byte", async () => {
  const bytes = new Uint8Array([...strToU8("abcäö"), 0xff, ...strToU8("more")]);
  await assert.rejects(of("bad", { "bad.jsonl": bytes }), /`bad.jsonl` is not UTF-8 text: byte 7 /);
});

test("a file that is too large for a tab is refused before it is read", async () => {
  const file = (name: string, bytes: number) =>
    Object.defineProperties(new File(["x"], name), {
      size: { value: bytes },
      webkitRelativePath: { value: "" },
    });
  await assert.rejects(
    chosen([file("large.jsonl", MOST_BYTES + 1)]),
    /1,001 MB are more than a tab can hold; it opens up to 1,000 MB/,
  );
  const small: Files = (await chosen([file("small.jsonl", 1)])).files;
  assert.deepEqual(Object.keys(small), ["small.jsonl"]);
  const both = await chosen([file("a.sqlite-wal", 1), file("a.sqlite", 1)]);
  assert.equal(both.name, "a.sqlite", "files that belong together have the name of the first part");
});

test("stories in TOML are the JSON that the core reads", async () => {
  for (const path of [
    "tests/fixtures/stories/release.toml",
    "tests/fixtures/stories/budget.toml",
    "tests/fixtures/stories/callback.toml",
    "docs/stories/nightly.toml",
  ]) {
    const story = await of("s", { "s.toml": await readFile(new URL(path, root), "utf8") });
    assert.ok(story.kind === "story");
    assert.ok(typeof JSON.parse(story.story).story === "string", path);
  }
  const odd = 'story = "a"\nnumber = 9007199254740993\nat = 2026-05-27T09:00:00Z\nf = 1.5\n';
  const read = await of("s", { "s.toml": odd });
  assert.equal(
    read.kind === "story" ? read.story : "",
    '{"story":"a","number":9007199254740993,"at":"2026-05-27T09:00:00.000Z","f":1.5}',
  );
  await assert.rejects(of("s", { "s.toml": "story = \n" }), /`s\.toml`, line 1, column \d+: /);
});
