// Every question to a scheduler, about the present and the past; also snapshots, and which tasks
// are alive.

import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { loadGuest } from "./engine.mjs";
import { MemoryLedger } from "../../../npm/src/ledger/memory.mjs";

const guest = await loadGuest(
  process.env.WAKEFUL_GUEST ?? fileURLToPath(new URL("../../../target/guest/web", import.meta.url)),
);
const options = { agent_id: "a" };
const idle = { startTurn() {}, interject() {}, yieldTurn() {}, abortTurn() {}, release() {} };
const hostWith = (ledger, provider = idle) => ({
  ledger,
  clock: { now: () => 1_780_000_000_000_000_000n },
  provider,
});
const prompt = (id) =>
  JSON.stringify({
    fact: "message_queued",
    message: {
      id,
      kind: "operator_prompt",
      origin: { kind: "operator" },
      trust: "trusted_operator",
      body: { type: "text", text: "hello" },
    },
  });

function agent(messages, ledger = new MemoryLedger()) {
  const scheduler = guest.Scheduler.drive(options, hostWith(ledger));
  for (let number = 0; number < messages; number += 1) scheduler.propose(prompt(`m${number}`));
  return scheduler;
}

test("each answer is the same as object and as text", () => {
  const scheduler = agent(3);
  const calls = [
    ["explain", "run_loop"],
    ["explainAt", "run_loop", 4],
    ["whyNot", "run_loop", "Sleep"],
    ["whyNotAt", "run_loop", "Sleep", 4],
    ["summary"],
    ["state"],
    ["stateAt", 4],
    ["nextWake"],
    ["head"],
  ];
  for (const [name, ...given] of calls) {
    const value = scheduler[name](...given);
    assert.deepEqual(value ?? null, JSON.parse(scheduler[`${name}Text`](...given)), name);
  }
  assert.equal(JSON.parse(scheduler.snapshot()).head.seq, scheduler.head().seq);
});

test("the past is shown as it was", () => {
  const scheduler = agent(0);
  const seen = [];
  for (let number = 0; number < 10; number += 1) {
    scheduler.propose(prompt(`m${number}`));
    seen.push([scheduler.head().seq, scheduler.stateText(), scheduler.explainText("run_loop")]);
  }
  for (const [seq, state, explanation] of seen.reverse()) {
    assert.equal(scheduler.stateAtText(seq), state);
    assert.equal(scheduler.explainAtText("run_loop", seq), explanation);
  }
  for (const none of [0, -1, Number.NaN, 1e9, Number.POSITIVE_INFINITY]) {
    assert.throws(() => scheduler.stateAt(none), { name: "WakefulError", code: "no_such_entry" });
  }
});

test("catchUp reads what another writer appended", () => {
  const ledger = new MemoryLedger();
  const [first, second] = [agent(0, ledger), guest.Scheduler.observe(options, hostWith(ledger))];
  first.propose(prompt("m1"));
  assert.throws(() => second.propose(prompt("m2")), { code: "conflict" });
  assert.equal(second.catchUp(), first.head().seq - 2);
  second.propose(prompt("m2"));
  assert.equal(second.head().seq, ledger.read(0, 1000).length);
});

test("a ledger with snapshots gets them, and opens from the newest", () => {
  class Keeping extends MemoryLedger {
    stored = [];
    reads = [];
    read(after, limit) {
      this.reads.push(after);
      return super.read(after, limit);
    }
    loadSnapshot() {
      return this.stored.at(-1);
    }
    storeSnapshot(head, snapshot) {
      assert.equal(head.seq, JSON.parse(snapshot).head.seq);
      this.stored.push(snapshot);
    }
  }
  const ledger = new Keeping();
  const state = agent(300, ledger).stateText();
  assert.equal(ledger.stored.length, 2, "at 256 entries and at twice that");
  ledger.reads = [];
  const second = guest.Scheduler.observe(options, hostWith(ledger));
  assert.equal(second.stateText(), state);
  assert.ok(
    ledger.reads.every((after) => after >= JSON.parse(ledger.stored.at(-1)).head.seq - 1),
    `${ledger.reads}`,
  );
  ledger.stored.push("no snapshot at all");
  assert.equal(
    guest.Scheduler.observe(options, hostWith(ledger)).stateText(),
    state,
    "one that cannot be read is ignored",
  );
  ledger.loadSnapshot = () => 5;
  assert.equal(
    guest.Scheduler.observe(options, hostWith(ledger)).stateText(),
    state,
    "and so is a value that is not one",
  );
});

test("a provider says which tasks are alive; if it cannot, the agent is not taken over", () => {
  const ledger = new MemoryLedger();
  const first = agent(0, ledger);
  for (const task of ["one", "two"])
    first.propose(
      JSON.stringify({ fact: "task_created", task_id: task, task_kind: "command_task" }),
    );
  const before = ledger.read(0, 1000).length;
  const drive = (alive) => guest.Scheduler.drive(options, hostWith(ledger, { ...idle, alive }));
  for (const wrong of [
    () => "two",
    () => [2],
    () => {
      throw new Error("nobody knows");
    },
  ]) {
    assert.throws(() => drive(wrong), { name: "WakefulError", code: "provider_failed" });
  }
  assert.equal(ledger.read(0, 1000).length, before);
  const second = drive((active) => active.filter((task) => task === "two"));
  assert.deepEqual(Object.keys(second.state().tasks.active), ["two"]);
});
