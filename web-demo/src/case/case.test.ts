// Tests of a case: the comparison with the native trace, the lines about entries, the clock.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { readBundle } from "./bundle.ts";
import { clockTime } from "./clock.ts";
import { compare } from "./compare.ts";
import { DRAWN } from "../document/rows.ts";
import { entrySummary, SUMMARIES } from "./entry-summary.ts";
import { limitEnd, limitName, limitUse, triggerFacts, usageWords } from "./standing.ts";
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
  assert.equal(
    line("events", { kind: "scheduler_diagnostic", data: { kind: "budget_exhausted" } }),
    "scheduler_diagnostic · budget_exhausted",
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
  const trigger = { external_trigger_id: "build", status: "active", description: "a build" };
  assert.equal(
    line("external_triggers", { ...trigger, delivery_count: 1 }),
    "build · active · 1 delivery · a build",
  );
  assert.equal(
    line("external_triggers", { ...trigger, delivery_count: 1200 }),
    "build · active · 1,200 deliveries · a build",
  );
});

test("every class of the schema has words and a lane", async () => {
  const schema = JSON.parse(
    await readFile(new URL("../../../docs/wakeful.schema.json", import.meta.url), "utf8"),
  ) as { $defs: Record<string, { description?: string; anyOf?: { $ref: string }[] }> };
  const records = schema.$defs["Record"]?.anyOf ?? assert.fail("the schema has no records");
  const classes = records.flatMap(({ $ref }) => {
    const { description = "" } = schema.$defs[$ref.split("/").at(-1) ?? ""] ?? {};
    return /\(class `(\w+)`\)/.exec(description)?.[1] ?? [];
  });
  // What another runtime's ledger carries along has no class of its own.
  assert.equal(classes.length, records.length - 1);
  assert.deepEqual(Object.keys(SUMMARIES).toSorted(), classes.toSorted());
  assert.deepEqual(Object.keys(DRAWN).toSorted(), classes.toSorted());
});

test("a record of the control plane says what it changes", () => {
  const said = (control: string, record: object = {}) =>
    entrySummary({ ...entry(1), class: "control", record: { control, ...record } });
  assert.equal(said("stop_requested"), "stop_requested");
  assert.equal(
    said("budget_set", { tokens_per_day: 5000, tokens_total: 9 }),
    "budget_set · the agent · 5,000 tokens of the day · 9 tokens in all",
  );
  assert.equal(said("budget_set", { work_item_id: "w" }), "budget_set · w · no limits");
  assert.equal(
    said("budget_granted", { grant_id: "g", tokens: 1, cost_micros: 2 }),
    "budget_granted · the agent · 1 token · 2 millionths of cost",
  );
  assert.equal(
    said("round_counted", { run_id: "r", round: 2, input_tokens: 3, output_tokens: 4 }),
    "round_counted · r · 7 tokens",
  );
  assert.equal(
    said("policy_set", { policy: { terminal_reentry: "awaited" }, edition: null }),
    "policy_set · terminal_reentry",
  );
  assert.equal(
    said("item_parked", { work_item_id: "w", cause: "no_progress" }),
    "item_parked · w · no_progress",
  );
  assert.equal(said("a_record_to_come", { x: 1 }), "a_record_to_come");
});

test("a limit says what is used of it and what ends that", () => {
  const now = "2026-05-27T20:00:00Z";
  const day = { limit: "tokens_per_day", used: 900, of: 1500, renews_at: "2026-05-28T00:00:00Z" };
  assert.equal(limitName(day), "Tokens of the day");
  assert.equal(limitName({ ...day, limit: "a_limit_to_come" }), "a_limit_to_come");
  assert.equal(limitUse(day), "900 of 1,500");
  assert.equal(limitEnd(day, now), "begins anew at midnight UTC (2026-05-28 00:00)");
  assert.equal(
    limitEnd({ ...day, used: 1500 }, now),
    "used up, until midnight UTC (2026-05-28 00:00)",
  );
  const all = { ...day, renews_at: null };
  assert.equal(limitEnd(all, now), "");
  assert.equal(limitEnd({ ...all, used: 1501 }, now), "used up, until a grant or a higher limit");
  assert.equal(
    usageWords({ rounds: 1, input_tokens: 1000, output_tokens: 50, cost_micros: 0 }),
    "1,050 tokens in 1 round",
  );
  assert.equal(
    usageWords({ rounds: 2, input_tokens: 1, output_tokens: 0, cost_micros: 1 }),
    "1 token in 2 rounds, 1 millionth of cost",
  );
});

test("a trigger says whom it serves, what a delivery becomes, and when it ends", () => {
  const now = "2026-05-27T09:00:00Z";
  const trigger = {
    external_trigger_id: "build",
    description: "a build",
    delivery_mode: "wake_hint",
    trust: "untrusted_external",
    one_shot: false,
    created_at: now,
    delivery_count: 0,
    awaited_by: [],
  } as const;
  assert.deepEqual(triggerFacts({ ...trigger, awaited_by: [] }, now), [
    ["Serves", "the agent"],
    ["Becomes", "a wake hint"],
    ["Trusted", "as evidence"],
    ["Deliveries", "0"],
    ["Expires", "never"],
    ["Awaited by", "nobody"],
  ]);
  assert.deepEqual(
    triggerFacts(
      {
        ...trigger,
        awaited_by: ["c1", "i1"],
        work_item_id: "w",
        delivery_mode: "enqueue_message",
        trust: "trusted_integration",
        one_shot: true,
        delivery_count: 1,
        last_delivered_at: "2026-05-27T09:05:00Z",
        expires_at: "2026-05-28T10:00:00Z",
      },
      now,
    ),
    [
      ["Serves", "w"],
      ["Becomes", "a message"],
      ["Trusted", "as an integration"],
      ["Deliveries", "1 of 1, the last at 09:05"],
      ["Expires", "at 2026-05-28 10:00"],
      ["Awaited by", "c1, i1"],
    ],
  );
});

test("an invalid bundle is refused with what to do", () => {
  assert.throws(() => readBundle("{}"), /no `cases`/);
  assert.throws(() => readBundle("<!doctype html>"), /is not JSON: write it again/);
  assert.throws(() => readBundle('{"cases":[{"case":"a","kind":"story"}]}'), /case 1/);
  assert.equal(
    readBundle('{"cases":[{"case":"a","kind":"story","shows":"","story":"{}"}]}').length,
    1,
  );
});
