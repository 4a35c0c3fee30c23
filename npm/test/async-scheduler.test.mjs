// AsyncScheduler: stories give the same ledgers as with Scheduler, text for text; calls queue up;
// promises may fail late.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import test from "node:test";

import { IDLE, LOOPS, play, stories, wakeful } from "./stories.mjs";

const { AsyncScheduler, MemoryLedger, Scheduler } = wakeful;

const message = (id) => ({
  fact: "message_queued",
  message: {
    id,
    kind: "operator_prompt",
    origin: { kind: "operator" },
    trust: "trusted_operator",
    body: { type: "text", text: "look" },
  },
});

/** A host with a slow ledger and a provider that does nothing. Tests replace parts of it. */
function slowHost(parts = {}) {
  const lines = new MemoryLedger();
  const slowly = async (work) => {
    await sleep(1);
    return work();
  };
  const provider = { ...IDLE, ...parts.provider };
  return {
    lines,
    ledger: {
      append: (expected, batch) => slowly(() => lines.append(expected, batch)),
      read: (after, limit) => slowly(() => lines.read(after, limit)),
      ...parts.ledger,
    },
    clock: { now: () => 1_779_872_400_000_000_000n },
    provider,
    ...(parts.changed ? { changed: parts.changed } : {}),
  };
}

for (const [name, story] of Object.entries(stories)) {
  test(`the story ${name} gives the same ledger, state and explanation in both loops`, async () => {
    const [one, other] = [
      await play(LOOPS.Scheduler, story),
      await play(LOOPS.AsyncScheduler, story),
    ];
    assert.ok(one.lines.length > 10);
    assert.deepEqual(other.lines, one.lines);
    assert.deepEqual(
      [other.head, other.state, other.explanation],
      [one.head, one.state, one.explanation],
    );
    assert.deepEqual([other.asked, other.outcomes], [one.asked, one.outcomes]);
  });
}

test("calls that are made at once run one after the other, in their order", async () => {
  const host = slowHost();
  const scheduler = await AsyncScheduler.drive({ agent_id: "a" }, host);
  const ids = ["m1", "m2", "m3", "m4"];
  const [receipts, head] = await Promise.all([
    Promise.all(ids.map((id) => scheduler.propose(message(id)))),
    scheduler.head(),
  ]);
  assert.deepEqual(
    receipts.map(({ answer, head }) => [answer, head.seq]),
    [4, 6, 8, 10].map((seq) => ["accepted", seq]),
  );
  assert.deepEqual(head, receipts[3].head);
  const sync = Scheduler.drive({ agent_id: "a" }, { ...host, ledger: new MemoryLedger() });
  ids.forEach((id) => sync.propose(message(id)));
  assert.deepEqual(head, sync.head());
  await scheduler.close();
});

test("a call that fails does not stop the calls behind it", async () => {
  const scheduler = await AsyncScheduler.drive({ agent_id: "a" }, slowHost());
  const calls = await Promise.allSettled([
    scheduler.propose("no fact"),
    scheduler.propose(message("m1")),
    scheduler.step("noon"),
  ]);
  assert.deepEqual(
    calls.map(({ status, reason }) => reason?.code ?? status),
    ["malformed", "fulfilled", "malformed"],
  );
  await scheduler.close();
});

test("effects are released after their batch is stored, and never before", async () => {
  const stored = [];
  const host = slowHost({
    provider: { startTurn: (request) => stored.push([request.run_id, host.lines.lines.length]) },
  });
  const scheduler = await AsyncScheduler.drive({ agent_id: "a" }, host);
  await scheduler.propose(message("m1"));
  const [report] = await scheduler.runUntilRest();
  assert.deepEqual(stored, [["a:run-8", report.head.seq]]);
  assert.equal("effect" in report.effects[0], true);
  await scheduler.close();
});

test("a provider may report facts while it starts a turn, and await the answers", async () => {
  const said = [];
  const host = slowHost({
    provider: {
      startTurn: async ({ run_id }) => {
        said.push(
          (await scheduler.propose({ fact: "turn_terminal", run_id, kind: "completed" })).answer,
        );
      },
    },
  });
  const scheduler = await AsyncScheduler.drive({ agent_id: "a" }, host);
  await scheduler.propose(message("m1"));
  await scheduler.runUntilRest();
  await scheduler.head();
  assert.deepEqual(said, ["accepted"]);
  await scheduler.close();
});

test("a promise of the provider that is rejected later aborts its turn, and the host is told", async () => {
  let tell;
  const told = new Promise((resolve) => (tell = resolve));
  const late = async () => {
    await sleep(5);
    throw new Error("no model answers");
  };
  const host = slowHost({ provider: { startTurn: late }, changed: tell });
  const scheduler = await AsyncScheduler.drive({ agent_id: "a" }, host);
  await scheduler.propose(message("m1"));
  const [report] = await scheduler.runUntilRest();
  assert.equal(report.decision.decision, "StartModelTurn");
  assert.ok(
    !host.lines.lines.some((line) => line.includes("no model answers")),
    "the call does not wait for it",
  );
  await told;
  const aborted = host.lines.lines.find((line) => line.includes('"kind":"aborted"'));
  assert.match(aborted ?? "", /"run_id":"a:run-8"/);
  assert.ok(host.lines.lines.some((line) => line.includes("no model answers")));
  // contract 5.6: a failed turn owes a retry.
  assert.equal(await scheduler.nextWake(), 1_779_872_410_000_000_000n);
  await scheduler.close();
});

test("a failure of the provider that the ledger did not take is reported first by the next call", async () => {
  let appends = 0;
  const host = slowHost({
    provider: {
      startTurn() {
        throw new Error("no model");
      },
    },
    ledger: {
      append(expected, batch) {
        appends += 1;
        if (appends === 5) {
          throw new Error("the disk is full");
        }
        host.lines.append(expected, batch);
      },
    },
  });
  const scheduler = await AsyncScheduler.drive({ agent_id: "a" }, host);
  await scheduler.propose(message("m1"));
  await scheduler.runUntilRest();
  assert.equal(appends, 5, "the fifth append is the failure's");
  assert.equal(await scheduler.nextWake(), host.clock.now(), "at once");
  await scheduler.propose(message("m2"));
  const kinds = host.lines.lines
    .map((line) => (line.includes("no model") ? "failure" : line.includes('"m2"') ? "m2" : ""))
    .filter(Boolean);
  assert.deepEqual(kinds.slice(0, 2), ["failure", "m2"]);
  await scheduler.close();
});

test("catchUp reads a second writer's entries, and then the call is repeated", async () => {
  const host = slowHost();
  const late = await AsyncScheduler.drive({ agent_id: "a" }, host);
  const first = await AsyncScheduler.drive({ agent_id: "a" }, host);
  await first.propose(message("m1"));
  await assert.rejects(late.propose(message("m2")), { name: "WakefulError", code: "conflict" });
  assert.equal(await late.catchUp(), 3);
  assert.equal((await late.propose(message("m2"))).answer, "accepted");
  assert.deepEqual(await late.head(), {
    seq: host.lines.lines.length,
    chain: host.lines.lines.at(-1).slice(-66, -2),
  });
  await Promise.all([late.close(), first.close()]);
});

test("tasks that the provider proves alive stay, and if it cannot say, the ledger stays as it is", async () => {
  const host = slowHost();
  const first = await AsyncScheduler.drive({ agent_id: "a" }, host);
  for (const task_id of ["kept", "gone"]) {
    await first.propose({ fact: "task_created", task_id, task_kind: "command_task" });
    await first.propose({ fact: "task_running", task_id });
  }
  await first.close();
  const lines = host.lines.lines.length;
  const unsure = {
    ...host,
    provider: { ...host.provider, alive: () => Promise.reject(new Error("not reachable")) },
  };
  await assert.rejects(AsyncScheduler.drive({ agent_id: "a" }, unsure), {
    code: "provider_failed",
  });
  assert.equal(host.lines.lines.length, lines);
  const asked = [];
  const sure = {
    ...host,
    provider: { ...host.provider, alive: async (active) => (asked.push(...active), ["kept"]) },
  };
  const second = await AsyncScheduler.drive({ agent_id: "a" }, sure);
  assert.deepEqual(asked, ["gone", "kept"]);
  assert.deepEqual(Object.keys((await second.state()).tasks.active), ["kept"]);
  await second.close();
});

test("a closed scheduler refuses calls, after the pending ones", async () => {
  const scheduler = await AsyncScheduler.drive({ agent_id: "a" }, slowHost());
  const before = scheduler.propose(message("m1"));
  await scheduler.close();
  assert.equal((await before).answer, "accepted");
  await assert.rejects(scheduler.head(), { name: "WakefulError", code: "wrong_state" });
  await scheduler.close();
});

test("a ledger that was set back is noticed", async () => {
  const host = slowHost();
  const scheduler = await AsyncScheduler.drive({ agent_id: "default" }, host);
  await scheduler.propose(message("one"));
  assert.equal(await scheduler.catchUp(), 0);
  const whole = host.lines.read(0, 100);
  const read = host.lines.read.bind(host.lines);
  host.lines.read = (after, limit) => whole.slice(0, 2).slice(after, after + limit);
  await assert.rejects(scheduler.catchUp(), { code: "cannot_open" });
  host.lines.read = read;
  assert.equal(await scheduler.catchUp(), 0);
  await scheduler.close();
});
