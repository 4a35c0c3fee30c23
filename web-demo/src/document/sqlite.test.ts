// Tests of ledger files of SQLite, made here with the library that the page reads them with.
import assert from "node:assert/strict";
import test from "node:test";

import init from "@sqlite.org/sqlite-wasm";

import { textsOf, type Lines } from "./lines.ts";
import { agentsOf, readAgent, type SqliteFiles } from "./sqlite.ts";

const sqlite3 = await init();

const SCHEMA = `
  CREATE TABLE agents (agent INTEGER PRIMARY KEY, agent_id TEXT NOT NULL UNIQUE, goes_on_in TEXT);
  CREATE TABLE entries (agent INTEGER NOT NULL, seq INTEGER NOT NULL, batch INTEGER NOT NULL,
    chain BLOB NOT NULL, canonical TEXT NOT NULL, PRIMARY KEY (agent, seq)) STRICT, WITHOUT ROWID;
  CREATE TABLE snapshots (agent INTEGER NOT NULL, seq INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (agent, seq)) STRICT;
  CREATE TABLE anchors (agent INTEGER PRIMARY KEY, seq INTEGER NOT NULL, chain BLOB NOT NULL,
    archive TEXT NOT NULL) STRICT;
  PRAGMA application_id = ${0x576b666c};
  PRAGMA user_version = 3;
`;

const canonical = (seq: number) =>
  `{"seq":${seq},"at":"2026-05-27T09:00:0${seq % 10}Z","record":{}}`;
const stored = (seq: number) => canonical(seq).replace(/\}$/, `,"chain":"${"0a".repeat(32)}"}`);

/** The bytes of a ledger file with these statements, or with another schema. */
function fileOf(sql: string, schema = SCHEMA): Uint8Array {
  const database = new sqlite3.oo1.DB(":memory:", "c");
  database.exec(schema + sql);
  const bytes = sqlite3.capi.sqlite3_js_db_export(database);
  database.close();
  return bytes;
}

const agent = (number: number, id: string) =>
  `INSERT INTO agents VALUES (${number}, '${id}', NULL);`;
const entries = (number: number, from: number, to: number) =>
  Array.from(
    { length: to - from + 1 },
    (_, at) =>
      `INSERT INTO entries VALUES (${number}, ${from + at}, 1, x'${"0a".repeat(32)}', '${canonical(from + at)}');`,
  ).join("");

const files = (bytes: Uint8Array, beside: SqliteFiles["beside"] = {}): SqliteFiles => ({
  name: "agents.sqlite",
  file: new Blob([bytes as BlobPart]),
  wal: null,
  beside,
});
const nothing = () => {};
const all = (lines: Lines) => Array.from({ length: lines.length }, (_, at) => lines.line(at));

test("the agents of a file are listed, and each opens with its newest snapshot", async () => {
  const of = files(
    fileOf(
      `${agent(1, "one")}${agent(2, "two")}${entries(1, 1, 300)}${entries(2, 1, 2)}
       INSERT INTO snapshots VALUES (1, 100, 'older'), (1, 200, 'newer');`,
    ),
  );
  assert.deepEqual(await agentsOf(of), [
    { id: "one", turns: null, entries: 300, newestAt: "2026-05-27T09:00:00Z" },
    { id: "two", turns: null, entries: 2, newestAt: "2026-05-27T09:00:02Z" },
  ]);
  const one = await readAgent(of, "one", nothing);
  assert.deepEqual([one.snapshot, one.warnings], ["newer", []]);
  assert.deepEqual(
    all(one.lines),
    Array.from({ length: 300 }, (_, at) => stored(at + 1)),
  );
  const two = await readAgent(of, "two", nothing);
  assert.deepEqual([two.snapshot, two.lines.length], [null, 2]);
});

test("a server's file says who runs the turns of an agent", async () => {
  const kept = (kind: string, name: string, value: string) =>
    `INSERT INTO kept VALUES ('${kind}', '${name}', '${value}');`;
  const of = files(
    fileOf(
      `CREATE TABLE kept (kind TEXT, name TEXT, value TEXT);
       ${["one", "two", "three", "four"].map((id, at) => agent(at + 1, id)).join("")}
       ${kept("agent", "one", '{"turns":"elsewhere"}')} ${kept("token", "two", '{"turns":"model"}')}
       ${kept("agent", "three", '{"turns":"model","put_away":false}')} ${kept("agent", "four", "?")}`,
    ),
  );
  const turns = (await agentsOf(of)).map((found) => [found.id, found.turns]);
  assert.deepEqual(Object.fromEntries(turns), {
    one: "elsewhere",
    two: null,
    three: "model",
    four: null,
  });
});

test("what comes before a late snapshot is read when a person asks for it", async () => {
  const of = files(
    fileOf(
      `${agent(1, "one")}${entries(1, 1, 6_000)} INSERT INTO snapshots VALUES (1, 5000, 's');`,
    ),
  );
  const { lines, snapshot } = await readAgent(of, "one", nothing);
  assert.deepEqual([snapshot, lines.length, lines.read], ["s", 6_000, 0]);
  assert.equal(lines.line(5_999), stored(6_000));
  const page = textsOf(lines.page(4_999, 128));
  assert.deepEqual([page.length, page[0]], [128, stored(5_000)]);
  assert.equal(lines.read, 0, "the end was read first");
  assert.equal(lines.line(0), stored(1));
  assert.ok(lines.read > 0 && lines.read < 4_999);
  lines.push("appended");
  assert.equal(lines.line(6_000), "appended");
  assert.ok(lines.read < 4_999);
  assert.deepEqual(all(lines), [
    ...Array.from({ length: 6_000 }, (_, at) => stored(at + 1)),
    "appended",
  ]);
  assert.equal(lines.read, 6_001, "all of them are in one place");
});

test("archived entries are read from the archive that is opened too", async () => {
  const rest = fileOf(
    `${agent(1, "one")}${entries(1, 6, 9)}
     INSERT INTO anchors VALUES (1, 5, x'${"0a".repeat(32)}', 'old/archive.sqlite');`,
  );
  const archive = new Blob([fileOf(`${agent(4, "one")}${entries(4, 1, 7)}`) as BlobPart]);
  await assert.rejects(
    readAgent(files(rest), "one", nothing),
    /the entries of `one` up to 5 were moved to `old\/archive\.sqlite`: open `agents\.sqlite` and that file together/,
  );
  const { lines } = await readAgent(
    files(rest, { "archive.sqlite": { file: archive, wal: null } }),
    "one",
    nothing,
  );
  assert.deepEqual(
    all(lines),
    Array.from({ length: 9 }, (_, at) => stored(at + 1)),
  );
});

test("a file in WAL mode without its WAL is opened with a warning", async () => {
  const bytes = fileOf(`${agent(1, "one")}${entries(1, 1, 3)}`);
  bytes[18] = 2;
  bytes[19] = 2;
  const { warnings, lines } = await readAgent(files(bytes), "one", nothing);
  assert.equal(lines.length, 3);
  assert.match(warnings.join(), /without `agents\.sqlite-wal`/);
});

test("other files are refused in words", async () => {
  const foreign = files(fileOf("CREATE TABLE notes (text TEXT);", ""));
  await assert.rejects(agentsOf(foreign), /`agents\.sqlite` is not a ledger file of Wakeful/);
  const newer = files(fileOf("PRAGMA user_version = 9;"));
  await assert.rejects(agentsOf(newer), /has the schema version 9, and this page reads up to 3/);
  const torn = fileOf(`${agent(1, "one")}${entries(1, 1, 2_000)}`);
  const half = files(torn.subarray(0, torn.length >> 1));
  await assert.rejects(
    readAgent(half, "one", nothing).then(({ warnings }) => {
      throw new Error(warnings.join());
    }),
    /malformed|damaged/,
  );
  const noise = files(
    new Uint8Array([
      ...new TextEncoder().encode("SQLite format 3\0"),
      ...torn.subarray(900, 9_000),
    ]),
  );
  await assert.rejects(agentsOf(noise), /agents\.sqlite/);
});
