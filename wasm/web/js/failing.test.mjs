// The n-th call that the guest makes of its host fails, for n = 1, 2, 3, ... until none fails: a ledger or a clock that throws is an error of
// that call and changes nothing, the next one works, and the provider is asked the same; a provider that throws fails its turn and no call.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { loadGuest } from "./engine.mjs";
import { LedgerConflict, MemoryLedger } from "./memory-ledger.mjs";

const root = new URL("../../../", import.meta.url);
const guest = await loadGuest(process.env.WAKEFUL_GUEST ?? fileURLToPath(new URL("target/guest/web", root)));
const heartbeat = await readFile(new URL("tests/fixtures/stories/heartbeat.json", root), "utf8");

/** Plays the heartbeat; the n-th call of these parts of the host throws. */
function play(n, parts, error) {
  const player = new guest.Player(heartbeat);
  const ledger = new MemoryLedger();
  const came = { asked: [], thrown: [], failed: undefined, head: undefined };
  let left = n;
  const call = (part, name, work) => {
    if (parts.includes(part) && --left === 0) {
      came.failed = `${part}.${name}`;
      throw error;
    }
    return work();
  };
  const ask = (name, what, work = () => {}) => {
    came.asked.push(`${name} ${what}`);
    call("provider", name, work);
  };
  const host = {
    ledger: {
      append: (expected, batch) => call("ledger", "append", () => ledger.append(expected, batch)),
      read: (after, limit) => call("ledger", "read", () => ledger.read(after, limit)),
    },
    clock: { now: () => call("clock", "now", () => player.now()) },
    provider: {
      startTurn: (request) => ask("startTurn", request.run_id, () => player.startTurn(request)),
      interject: (runId) => ask("interject", runId),
      yieldTurn: (runId) => ask("yieldTurn", runId),
      abortTurn: (runId) => ask("abortTurn", runId),
      release: () => ask("release", ""),
    },
  };
  /** Calls, and after an error, which must have changed nothing but by appends before it, once more. */
  const insist = (attempt) => {
    try {
      return attempt();
    } catch (thrown) {
      came.thrown.push(thrown);
      return attempt();
    }
  };
  const scheduler = insist(() => guest.Scheduler.drive({ agent_id: "default" }, host));
  const checked = (attempt) =>
    insist(() => {
      const [state, lines] = [scheduler.stateText(), ledger.lines.length];
      try {
        return attempt();
      } catch (thrown) {
        if (ledger.lines.length === lines) {
          assert.equal(scheduler.stateText(), state, "a failed call changes nothing");
        }
        throw thrown;
      }
    });
  try {
    for (;;) {
      const command = player.next(checked(() => scheduler.nextWake()));
      if (command.do === "done") {
        came.head = insist(() => scheduler.headText());
        return came;
      }
      if (command.do === "propose") {
        checked(() => scheduler.proposeText(command.fact));
      } else if (command.do === "run") {
        checked(() => scheduler.runUntilRestText());
      }
    }
  } finally {
    scheduler.free();
    player.free();
  }
}

const unhurt = play(0, [], undefined);

for (const [name, error, code] of [
  ["fails", new Error("the disk is full"), "ledger_failed"],
  ["conflicts", new LedgerConflict(7), "conflict"],
]) {
  test(`whichever call of the ledger ${name}, that is thrown, and the next call works`, () => {
    const failed = new Set();
    for (let n = 1; ; n += 1) {
      const came = play(n, ["ledger"], error);
      assert.deepEqual([came.head, came.asked], [unhurt.head, unhurt.asked], `call ${n}, ${came.failed}`);
      if (came.failed === undefined) {
        break;
      }
      assert.deepEqual(came.thrown.map((thrown) => thrown.code), [code], `call ${n}, ${came.failed}`);
      failed.add(came.failed);
    }
    assert.deepEqual([...failed].sort(), ["ledger.append", "ledger.read"]);
  });
}

test("whichever call of the clock throws, that is thrown, and the next call works", () => {
  for (let n = 1; ; n += 1) {
    const came = play(n, ["clock"], new Error("no clock"));
    assert.deepEqual([came.head, came.asked], [unhurt.head, unhurt.asked], `call ${n}`);
    if (came.failed === undefined) {
      assert.ok(n > 20, `the clock was asked ${n - 1} times`);
      break;
    }
    assert.deepEqual(came.thrown.map((thrown) => thrown.message), ["no clock"], `call ${n}`);
  }
});

test("whichever call of the provider throws, no call of the guest does, and the story comes to its end", () => {
  const failed = new Set();
  for (let n = 1; ; n += 1) {
    const came = play(n, ["provider"], new Error("no model"));
    assert.deepEqual(came.thrown, [], `call ${n}, ${came.failed}`);
    if (came.failed === undefined) {
      assert.equal(came.head, unhurt.head);
      break;
    }
    failed.add(came.failed);
    assert.equal(new Set(came.asked).size, came.asked.length, `no run is started twice: ${came.asked}`);
  }
  assert.deepEqual([...failed].sort(), ["provider.startTurn", "provider.yieldTurn"]);
});
