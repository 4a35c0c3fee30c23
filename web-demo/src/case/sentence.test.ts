// Tests of the sentence at the top.
import assert from "node:assert/strict";
import test from "node:test";

import type { Decision, Explanation } from "../../../npm/src/payloads.js";
import { clockTime, sentence, type Told } from "./sentence.ts";

const NOW = "2026-05-27T09:10:00Z";

type Change = Partial<Omit<Told, "decision">> & { decision: Partial<Decision> & Pick<Decision, "decision"> };

function say(change: Change, now = NOW): string {
  const decision: Decision = {
    reason: "no_pending_scheduler_facts",
    model_reentry: false,
    liveness_only: true,
    boundary: "run_loop_idle",
    evidence: [],
    rule: "9.sleep",
    edition: "2026-05-27",
    ...change.decision,
  };
  const posture: Explanation["posture"] = { posture: "idle", reason: "nothing" };
  return sentence({ status: "asleep", posture, obligations: [], next_wake: null, ...change, decision }, now);
}

const timers: Told["obligations"] = [
  { kind: "timer", id: "late", seq: 9, enabled_at: "2026-05-27T10:00:00Z" },
  { kind: "message", id: "m1", seq: 3 },
  { kind: "timer", id: "look-again", seq: 14, enabled_at: "2026-05-27T09:20:00Z" },
];

test("a wait for a timer names the first one and when it wakes", () => {
  const told: Change = { decision: { decision: "WaitForTimer" }, obligations: timers, next_wake: "2026-05-27T09:20:00Z" };
  assert.equal(say(told), "Asleep: waits for timer look-again; wakes at 09:20");
  assert.equal(say(told, "2026-05-26T23:59:00Z"), "Asleep: waits for timer look-again; wakes at 2026-05-27 09:20");
  assert.equal(say(told, "2026-05-27T09:20:00Z"), "Asleep: waits for timer look-again; due now");
});

test("the order of the obligations is kept for others", () => {
  const order = timers.map((owed) => owed.id);
  say({ decision: { decision: "WaitForTimer" }, obligations: timers });
  assert.deepEqual(timers.map((owed) => owed.id), order);
});

test("an item's own wait for an instant is not the wait for a timer", () => {
  const told: Change = { decision: { decision: "WaitForTimer", work_item_id: "w1" }, next_wake: "2026-05-27T09:10:30Z" };
  assert.equal(say(told), "Asleep: work item w1 waits for an instant; wakes at 09:10:30");
});

test("each wait says who waits and for what", () => {
  const posture: Explanation["posture"] = { posture: "waiting_for_task", reason: "x", task_id: "t1" };
  const waits: [Change, string][] = [
    [{ decision: { decision: "WaitForTask", work_item_id: "w1" }, posture, status: "awaiting_task" }, "Asleep: work item w1 waits for task t1"],
    [{ decision: { decision: "WaitForTask", work_item_id: "w1" } }, "Asleep: work item w1 waits for a task"],
    [{ decision: { decision: "WaitForExternalChange" } }, "Asleep: the agent waits for something external"],
    [{ decision: { decision: "WaitForExternalChange", work_item_id: "w1" } }, "Asleep: work item w1 waits for something external"],
    [{ decision: { decision: "WaitForOperator", work_item_id: "w1" } }, "Asleep: work item w1 waits for the operator"],
  ];
  for (const [told, words] of waits) {
    assert.equal(say(told), words);
  }
});

test("an agent that will act says with what", () => {
  const status = "awake_idle";
  const acts: [Change["decision"], string][] = [
    [{ decision: "StartModelTurn", message_id: "m1" }, "Awake: message m1 starts a turn next"],
    [{ decision: "ReduceMessageOnly", message_id: "m1" }, "Awake: message m1 is settled next, without the model"],
    [{ decision: "EmitSystemTick", reason: "wake_hint" }, "Awake: a pending wake hint becomes a tick next"],
    [{ decision: "EmitSystemTick", reason: "continue_active", work_item_id: "w1" }, "Awake: work item w1 is offered to the model next"],
    [{ decision: "EmitSystemTick", reason: "queued_available", work_item_id: "w2" }, "Awake: work item w2 is offered to the model next"],
    [
      { decision: "EmitSystemTick", reason: "work_item_system_wait", work_item_id: "w1" },
      "Awake: work item w1 waits for the runtime, which ticks it next",
    ],
  ];
  for (const [decision, words] of acts) {
    assert.equal(say({ decision, status, next_wake: "2026-05-27T09:20:00Z" }), words);
  }
});

test("an open run, a stop, a shutdown and a rest are told apart", () => {
  const posture: Explanation["posture"] = { posture: "active_turn", reason: "x", run_id: "run-8" };
  assert.equal(
    say({ decision: { decision: "Noop" }, status: "awake_running", posture, next_wake: NOW }),
    "Running: run run-8 is open, nothing else is started",
  );
  assert.equal(say({ decision: { decision: "Stop", reason: "stopped" }, status: "stopped" }), "Stopped: does nothing until it is started");
  assert.equal(
    say({ decision: { decision: "Stop", reason: "shutdown" }, status: "awake_idle" }),
    "Awake: shuts down, starts nothing until it is restarted",
  );
  assert.equal(say({ decision: { decision: "Sleep" }, status: "booting" }), "Booting: nothing is pending");
  assert.equal(say({ decision: { decision: "StayIdle" } }), "Asleep: nothing is pending");
});

test("a time is as short as it stays clear", () => {
  assert.equal(clockTime("2026-05-27T09:20:00Z", NOW), "09:20");
  assert.equal(clockTime("2026-05-27T09:20:05.250Z", NOW), "09:20:05");
  assert.equal(clockTime("2026-05-28T00:00:00Z", NOW), "2026-05-28 00:00");
});
