// Tests of the Node engine over the built guest: `node --test wasm/web/js`. WAKEFUL_GUEST names
// another folder than target/guest/web.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { answer } from "./answer.mjs";
import { loadGuest } from "./engine.mjs";
import { LedgerConflict, MemoryLedger } from "../../../npm/src/ledger/memory.mjs";
import { trace } from "./play.mjs";

const root = new URL("../../../", import.meta.url);
const folder = process.env.WAKEFUL_GUEST ?? fileURLToPath(new URL("target/guest/web", root));
const guest = await loadGuest(folder);
const heartbeat = await readFile(new URL("tests/fixtures/stories/heartbeat.json", root), "utf8");

const fixture = {
  "agent.json": '{"format":1,"turn_index":0}',
  "expected.json":
    '{"queued_work_items":0,"active_tasks":0,"has_blocking_active_tasks":false,"pending_wake_hint":false,"decision":"Sleep","decision_reason":"no_pending_scheduler_facts"}',
};

function engine(lines, args = [folder]) {
  const program = spawn(process.execPath, [
    fileURLToPath(new URL("engine.mjs", import.meta.url)),
    ...args,
  ]);
  program.stdin.end(
    lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""),
  );
  const closed = new Promise((resolve) => program.on("close", resolve));
  return Promise.all([text(program.stdout), text(program.stderr), closed]);
}

test("each line gets one answer with its id, in order, and a bad line stops nothing", async () => {
  const [out, errors, code] = await engine([
    { id: 1, case: "heartbeat", story: heartbeat },
    "this is not JSON",
    { id: 3, case: "neither" },
    { id: 4, case: "bad story", story: "{" },
    { id: 5, case: "rest", files: fixture },
  ]);
  assert.equal(code, 0, errors);
  const [ready, ...answers] = out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(ready, { ready: `node ${process.version}` });
  assert.deepEqual(
    answers.map((line) => [line.id, "trace" in line]),
    [
      [1, true],
      [null, false],
      [3, false],
      [4, false],
      [5, true],
    ],
  );
  assert.match(answers[2].failure, /exactly one of `story`/);
  assert.match(answers[3].failure, /malformed story/);
});

test("a missing guest is a clear error", async () => {
  const [out, , code] = await engine([], [fileURLToPath(new URL("target/no-such-guest", root))]);
  assert.equal(code, 1);
  assert.match(JSON.parse(out).cannot_run, /cannot load the guest .*cargo xtask run/s);
  const [, usage, misused] = await engine([], []);
  assert.equal(misused, 2);
  assert.match(usage, /usage/);
});

test("the heartbeat ends asleep, its entries count up without gaps, and every step is explained at its head", () => {
  const played = JSON.parse(trace(guest, { case: "heartbeat", story: heartbeat }));
  assert.equal(played.case, "heartbeat");
  assert.deepEqual(played.steps[0].command, { do: "open" });
  const entries = played.steps.flatMap((step) => step.entries);
  assert.deepEqual(
    entries.map((entry) => entry.seq),
    entries.map((_, index) => index + 1),
  );
  let last = "";
  for (const step of played.steps) {
    last = step.entries.at(-1)?.chain ?? last;
    assert.equal(step.explanation.head.chain, last);
    assert.equal(step.outcome?.error, undefined);
  }
  const end = played.steps.at(-1).explanation;
  assert.deepEqual(
    [end.status, end.decision.decision, end.next_wake],
    ["asleep", "WaitForTimer", "2026-05-27T09:20:00Z"],
  );
});

test("two plays of one story give the same text", () => {
  const job = { case: "heartbeat", story: heartbeat };
  assert.equal(trace(guest, job), trace(guest, job));
});

test("numbers of free JSON pass through unchanged, as text", () => {
  const story = JSON.stringify({
    story: "numbers",
    shows: "free JSON keeps its numbers",
    agent_id: "default",
    starts_at: "2026-05-27T09:00:00Z",
    script: [{ fact: "HERE" }],
  }).replace(
    '"HERE"',
    '{"fact":"message_queued","message":{"id":"m1","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"x"},"metadata":{"a":1.0,"b":1e2,"c":9223372036854775808}}}',
  );
  const text = trace(guest, { case: "numbers", story });
  // Three times: in the command, in the entry, and in the request for the turn.
  assert.equal(text.split('"metadata":{"a":1.0,"b":1e2,"c":9223372036854775808}').length - 1, 3);
});

test("a fixture replays, and one that cannot be read is an error in the trace", () => {
  const [step] = JSON.parse(trace(guest, { case: "rest", files: fixture })).steps;
  assert.deepEqual(step.command, { do: "replay" });
  assert.equal(step.explanation.decision.decision, "Sleep");
  assert.deepEqual(step.outcome.found, step.outcome.expected);
  const broken = { ...fixture, "ledger/messages.jsonl": '{"id":1}' };
  const [failed] = JSON.parse(trace(guest, { case: "broken", files: broken })).steps;
  assert.equal(failed.outcome.error.code, "malformed");
  assert.equal(failed.outcome.error.place.file, "ledger/messages.jsonl");
  assert.equal(failed.entries.length, 1, "only the genesis entry was written");
});

test("a data folder is replayed for its own agent and expects nothing", () => {
  const timer =
    '{"id":"t","agent_id":"main","created_at":"2026-05-27T09:00:00Z","duration_ms":1000,"repeat":false,"status":"active","next_fire_at":null}';
  const files = {
    ".holon/state/agent.json": '{"id":"main","status":"asleep"}',
    ".holon/ledger/timers.jsonl": `${timer}\n`,
  };
  const [step] = JSON.parse(trace(guest, { case: "main", files })).steps;
  assert.equal(step.outcome.expected, undefined);
  assert.deepEqual(
    [step.outcome.found.active_timers, step.outcome.found.decision],
    [1, "WaitForTimer"],
  );
  assert.equal(step.entries[0].record.agent_id, "main");
});

test("a refused fact is an outcome, and the story continues", () => {
  const bad = JSON.parse(heartbeat);
  bad.script.unshift({ fact: { fact: "no_such_fact" } });
  const played = JSON.parse(
    answer(guest, JSON.stringify({ id: 1, case: "bad", story: JSON.stringify(bad) })).trace,
  );
  assert.equal(played.steps[1].outcome.error.code, "malformed");
  assert.equal(played.steps[1].entries.length, 0);
  assert.equal(played.steps.at(-1).explanation.decision.decision, "WaitForTimer");
});

test("a scenario is the actions of its host: another process takes the ledger over, and a fresh agent starts anew", () => {
  const open = (fresh) => ({ do: "open", mode: "drive", options: { agent_id: "default" }, fresh });
  const prompt = { fact: "work_item_created", work_item_id: "w", objective: "W" };
  const acts = [
    open(true),
    { do: "propose", fact: JSON.stringify(prompt) },
    open(false),
    { do: "set_clock", nanos: "1779872401000000000" },
    open(true),
  ];
  const { steps } = JSON.parse(
    trace(guest, { case: "s", acts: acts.map((act) => JSON.stringify(act)) }),
  );
  assert.deepEqual(
    steps.map((step) => step.command),
    acts,
  );
  assert.deepEqual(
    steps.map((step) => step.entries[0]?.record.control),
    ["genesis", undefined, "runtime_restarted", undefined, "genesis"],
  );
  assert.deepEqual(
    [steps[0], steps[4]].map((step) => step.entries[0].at),
    ["2026-05-27T09:00:00Z", "2026-05-27T09:00:01Z"],
  );
});

test("the ledger in memory stores a batch only at its head", () => {
  const ledger = new MemoryLedger();
  const line = (digit) => `{"seq":1,"chain":"${digit.repeat(64)}"}`;
  ledger.append({ seq: 0, chain: "0".repeat(64) }, [line("a")]);
  const isConflict = (error) => error instanceof LedgerConflict && error.found === 1;
  const refused = (seq, chain) =>
    assert.throws(() => ledger.append({ seq, chain }, [line("b")]), isConflict);
  refused(0, "0".repeat(64));
  refused(1, "b".repeat(64));
  ledger.append({ seq: 1, chain: "a".repeat(64) }, [line("b")]);
  assert.deepEqual(ledger.read(1, 10), [line("b")]);
  assert.equal(ledger.read(0, 1).length, 1);
});
