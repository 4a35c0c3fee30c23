// Tests of a case: the comparison with the native trace, the lines about entries, the clock.
import assert from "node:assert/strict";
import test from "node:test";

import { readBundle } from "./bundle.ts";
import { clockTime } from "./clock.ts";
import { compare } from "./compare.ts";
import { entrySummary } from "./entry-summary.ts";
import type { Entry, Step, Trace } from "./trace.ts";

const entry = (seq: number, chain = `c${seq}`): Entry => ({
  seq,
  at: "2026-05-27T09:00:00Z",
  class: "events",
  record: { kind: "x" },
  chain,
});

function trace(): Trace {
  const explanation = (chain: string) => ({ head: { seq: 1, chain } }) as Step["explanation"];
  return {
    case: "a",
    steps: [
      {
        command: { do: "open" },
        outcome: null,
        entries: [entry(1)],
        explanation: explanation("c1"),
      },
      {
        command: { do: "run" },
        outcome: [],
        entries: [entry(2), entry(3)],
        explanation: explanation("c3"),
      },
    ],
  };
}

function changed(change: (steps: [Step, Step]) => void): Trace {
  const other = trace();
  change(other.steps as [Step, Step]);
  return other;
}

test("equal traces are equal, and the badge names the last chain", () => {
  assert.deepEqual(compare(trace(), trace()), { native: "equal", chain: "c3" });
  assert.deepEqual(compare(trace(), undefined), { native: "none" });
});

test("the first difference is named by step, part and entry", () => {
  const at = (other: Trace) => compare(trace(), other);
  const differs = (step: number, part: string, entry: number | null) => ({
    native: "differs",
    step,
    part,
    entry,
  });
  assert.deepEqual(
    at(changed(([, run]) => run.entries.splice(1, 1, entry(3, "other")))),
    differs(1, "entries", 3),
  );
  assert.deepEqual(at(changed(([, run]) => run.entries.pop())), differs(1, "entries", 3));
  assert.deepEqual(at(changed(([open]) => (open.outcome = []))), differs(0, "outcome", null));
  assert.deepEqual(
    at(changed(([, run]) => (run.explanation.head.seq = 9))),
    differs(1, "explanation", null),
  );
  assert.deepEqual(at({ case: "a", steps: trace().steps.slice(0, 1) }), differs(1, "length", null));
});

test("an instant is as short as is clear", () => {
  const now = "2026-05-27T09:00:00Z";
  assert.equal(clockTime("2026-05-27T09:20:00Z", now), "09:20");
  assert.equal(clockTime("2026-05-27T09:20:05Z", now), "09:20:05");
  assert.equal(clockTime("2026-05-28T00:00:00Z", now), "2026-05-28 00:00");
});

test("an entry is told in a line by its class", () => {
  const line = (of: string, record: Record<string, unknown>) =>
    entrySummary({ ...entry(1), class: of, record });
  assert.equal(
    line("events", { kind: "scheduler_decision", data: { decision: "Sleep", reason: "r" } }),
    "scheduler_decision · Sleep · r",
  );
  const closure = {
    agent_id: "a",
    closure: { outcome: "waiting", waiting_reason: "awaiting_timer", evidence: [] },
  };
  assert.equal(
    line("events", { kind: "closure_decided", data: closure }),
    "closure_decided · waiting · awaiting_timer",
  );
  assert.equal(
    line("messages", { id: "m1", kind: "operator_prompt", body: { type: "text", text: "hi" } }),
    "m1 · operator_prompt · hi",
  );
  assert.equal(line("turns", { run_id: "r1", status: "started", kind: null }), "r1 · started");
  assert.equal(line("a_class_to_come", { id: "z" }), "z");
});

test("an invalid bundle is refused with what to do", () => {
  assert.throws(() => readBundle("{}"), /no `cases`/);
  assert.throws(() => readBundle('{"cases":[{"case":"a","kind":"story"}]}'), /case 1/);
  assert.equal(
    readBundle('{"cases":[{"case":"a","kind":"story","shows":"","story":"{}"}]}').length,
    1,
  );
});
