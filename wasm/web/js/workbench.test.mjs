// The calls for the workbench: a view of the past, the entries at which the decision changes, and
// the ledger as a folder.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { loadGuest } from "./engine.mjs";
import { trace } from "./play.mjs";
import { MemoryLedger } from "../../../npm/src/ledger/memory.mjs";

const guest = await loadGuest(
  process.env.WAKEFUL_GUEST ?? fileURLToPath(new URL("../../../target/guest/web", import.meta.url)),
);
const heartbeat = await readFile(
  new URL("../../../tests/fixtures/stories/heartbeat.json", import.meta.url),
  "utf8",
);
const RFC = "2026-05-08";

/**
 * An observer of these lines. Its clock stays at 2000-01-01, so new facts get the instant of the
 * newest line.
 */
function observe(lines) {
  const unused = () => assert.fail("an observer starts nothing");
  const provider = {
    startTurn: unused,
    interject: unused,
    yieldTurn: unused,
    abortTurn: unused,
    release: unused,
  };
  const ledger = new MemoryLedger();
  if (lines.length > 0) ledger.append({ seq: 0, chain: "0".repeat(64) }, lines);
  return guest.Scheduler.observe(
    { agent_id: "default" },
    { ledger, clock: { now: () => 946_684_800_000_000_000n }, provider },
  );
}

/** The ledger of the story of the heartbeat. */
function played() {
  const lines = [];
  trace(guest, { case: "heartbeat", story: heartbeat }, (_, entries) => lines.push(...entries));
  return lines;
}

const lines = played();

test("a view is the explanation and the summary of that entry, at the next boundary of a loop", () => {
  const scheduler = observe(lines);
  for (let seq = 1; seq <= lines.length; seq += 1) {
    const view = scheduler.viewAt(seq);
    const then = observe(lines.slice(0, seq));
    assert.deepEqual(view.explanation, scheduler.explainAt(view.boundary, seq));
    assert.deepEqual(view.summary, then.summary());
    assert.deepEqual(
      scheduler.viewAt(seq, { boundary: "idle_tick" }).explanation,
      scheduler.explainAt("idle_tick", seq),
    );
  }
  const waiting =
    lines.findIndex((line) => line.includes('"queue_entries"') && line.includes('"queued"')) + 1;
  assert.equal(scheduler.viewAt(waiting).boundary, "run_loop");
  assert.equal(scheduler.viewAt(lines.length).boundary, "run_loop_idle");
});

test("a supposition changes the explanation as the fact would, and nothing else", () => {
  const scheduler = observe(lines);
  const before = scheduler.headText();
  for (const supposed of [
    { edition: RFC },
    { policy: { run_lease_ms: 1000, offer_backoff_ms: [5] } },
    { edition: RFC, policy: { lane_burst: 1 } },
  ]) {
    const policy = supposed.policy && { ...scheduler.state().control.policy, ...supposed.policy };
    for (let seq = 1; seq <= lines.length; seq += 7) {
      const set = observe(lines.slice(0, seq));
      const boundary = scheduler.viewAt(seq).boundary;
      set.propose({ fact: "policy_set", ...supposed, ...(policy && { policy }) });
      const { head, ...found } = scheduler.viewAt(seq, supposed).explanation;
      const { head: headWithFact, ...expected } = set.explainAt(boundary, seq + 1);
      assert.equal(head.seq, seq);
      assert.notDeepEqual(head, headWithFact);
      assert.deepEqual(found, expected);
      assert.equal(found.decision.edition, supposed.edition ?? "2026-05-27");
    }
  }
  assert.equal(scheduler.headText(), before);
  assert.deepEqual(scheduler.viewAt(9, {}), scheduler.viewAt(9));
});

test("a wrong supposition is the error of the fact, with its place", () => {
  const scheduler = observe(lines);
  for (const [supposed, path] of [
    [{ policy: { lane_burst: 0 } }, "policy.lane_burst"],
    [{ policy: { offer_backoff_ms: [5, 0] } }, "policy.offer_backoff_ms[1]"],
    [{ edition: "2026" }, "edition"],
    [{ boundary: "noon" }, "boundary"],
  ]) {
    assert.throws(
      () => scheduler.viewAt(3, supposed),
      (error) => error.code === "malformed" && error.place.path === path,
    );
  }
  assert.throws(() => scheduler.viewAt(3, 5), { code: "malformed" });
  assert.throws(() => scheduler.viewAt(lines.length + 1), { code: "no_such_entry" });
});

test("the decisions of a range are those of its views, listed where they change", () => {
  const scheduler = observe(lines);
  for (const options of [undefined, { edition: RFC }]) {
    const expected = [];
    for (let seq = 1; seq <= lines.length; seq += 1) {
      const { decision, rule, reason } = scheduler.viewAt(seq, options).explanation.decision;
      const last = expected.at(-1);
      if (decision !== last?.decision || rule !== last.rule || reason !== last.reason)
        expected.push({ seq, decision, rule, reason });
    }
    assert.ok(expected.length > 5, `${expected.length} changes`);
    assert.deepEqual(observe(lines).history(1, lines.length, options).decisions, expected);
    const [first, ...rest] = scheduler.history(10, 20, options).decisions;
    assert.equal(first.seq, 10);
    assert.deepEqual(
      rest,
      expected.filter(({ seq }) => seq > 10 && seq <= 20),
    );
  }
  assert.deepEqual(scheduler.history(5, 4), { decisions: [], oddities: [] });
  for (const [from, to] of [
    [0, 3],
    [1, lines.length + 1],
    [Number.NaN, 3],
  ]) {
    assert.throws(() => scheduler.history(from, to), { code: "no_such_entry" });
  }
  assert.throws(
    () => scheduler.history(1, 2, { edition: "none" }),
    (error) => error.place.path === "edition",
  );
});

test("a ledger of bytes is read as one of strings, and its errors are told", () => {
  const bytes = (from, to) =>
    new TextEncoder().encode(
      lines
        .slice(from, to)
        .map((line) => `${line}\n`)
        .join(""),
    );
  const open = (read) =>
    guest.Scheduler.observe(
      { agent_id: "default" },
      {
        ledger: { append: () => assert.fail("an observer appends nothing"), read },
        clock: { now: () => 946_684_800_000_000_000n },
        provider: {},
      },
    );
  const scheduler = open((after, limit) => bytes(after, after + limit));
  assert.equal(scheduler.headText(), observe(lines).headText());
  assert.deepEqual(scheduler.viewAt(7), observe(lines).viewAt(7));
  assert.throws(() => open(() => new Uint8Array([0xff, 0x0a])), { code: "ledger_failed" });
  assert.throws(() => open(() => new TextEncoder().encode("\n".repeat(2_000))), {
    code: "ledger_failed",
  });
});

test("the headline says what is overdue for a reader of a later time, and nothing to others", () => {
  const scheduler = observe(lines);
  const at = lines.length;
  assert.deepEqual(scheduler.viewAt(at).headline, { notices: [], next: null });
  const [notice] = scheduler.viewAt(at, { now: "2026-05-28T09:00:00Z" }).headline.notices;
  assert.equal(notice.kind, "overdue");
  assert.match(notice.says, /^Overdue: a wake was due at 2026-05-27T09:20:00Z\./);
  assert.deepEqual(notice.act, { kind: "start", id: null });
  assert.throws(
    () => scheduler.viewAt(at, { now: "noon" }),
    (error) => error.code === "malformed" && error.place.path === "now",
  );
});

test("an exported ledger replays as its own expected.json says, and its import exports the same folder", () => {
  for (const upTo of [undefined, 1, 20, lines.length]) {
    const folder = observe(lines).exportFolder(upTo);
    assert.equal(guest.agentOf(folder), "default");
    const again = observe([]);
    const { expected, found } = again.replay(folder);
    assert.deepEqual(found, expected);
    assert.deepEqual(again.exportFolder(), folder);
  }
  assert.throws(() => observe(lines).exportFolder(lines.length + 1), { code: "no_such_entry" });
});
