// The n-th call of the host fails, for n = 1, 2, 3, ... until none fails, in both loops. If a
// ledger or a clock throws, that call throws and changes nothing, the next call works, and the
// provider gets the same calls. If a provider throws, its turn fails, but no call does.
import assert from "node:assert/strict";
import test from "node:test";

import { LOOPS, play, stories, wakeful } from "./stories.mjs";

/**
 * Plays the heartbeat. The n-th call of this part of the host fails in the way of `wrong`, and the
 * calls after that in the ways of `then`, as far as there are any.
 */
async function hurt(loop, n, part, wrong, then = []) {
  let left = n;
  let failed;
  const came = await play(loop, stories.heartbeat, (called, name, work) => {
    if (called !== part || (left -= 1) > 0) {
      return work();
    }
    failed ??= `${called}.${name}`;
    const way = left === 0 ? wrong : then[-left - 1];
    return way === undefined ? work() : way(work);
  });
  return { ...came, failed };
}

const throwing = (error) => () => {
  throw error;
};

for (const [name, loop] of Object.entries(LOOPS)) {
  const unhurt = await play(loop, stories.heartbeat);

  for (const [does, wrong, code] of [
    ["fails", throwing(new Error("the disk is full")), "ledger_failed"],
    ["conflicts", throwing(new wakeful.LedgerConflict(7)), "conflict"],
  ]) {
    test(`${name}: whichever call of the ledger ${does}, that is thrown, and the next call works`, async () => {
      const failed = new Set();
      for (let n = 1; ; n += 1) {
        const came = await hurt(loop, n, "ledger", wrong);
        assert.deepEqual(
          [came.head, came.asked],
          [unhurt.head, unhurt.asked],
          `call ${n}, ${came.failed}`,
        );
        if (came.failed === undefined) {
          break;
        }
        assert.deepEqual(
          came.thrown.map((thrown) => thrown.code),
          [code],
          `call ${n}, ${came.failed}`,
        );
        failed.add(came.failed);
      }
      assert.deepEqual([...failed].sort(), ["ledger.append", "ledger.read"]);
    });
  }

  const stored = (work) => {
    work();
    throw new Error("no answer");
  };

  test(`${name}: whichever batch is stored without an answer, whatever fails after that, every turn is started once`, async () => {
    for (let later = 0; later < 4; later += 1) {
      const then = [...Array(later).fill(undefined), throwing(new Error("the disk is full"))];
      for (let n = 1, failed = ""; failed !== undefined; n += 1) {
        const came = await hurt(loop, n, "ledger", stored, then);
        // A repeated call may append one entry more, so runs may have other numbers.
        const [starts, those] = [came, unhurt].map((one) =>
          one.asked.filter((asked) => asked.startsWith("startTurn")),
        );
        const told = `call ${n}, ${came.failed}, and then call ${later}: ${starts}`;
        assert.equal(new Set(starts).size, starts.length, told);
        assert.equal(starts.length, those.length, told);
        failed = came.failed;
      }
    }
  });

  test(`${name}: whichever batch is stored without an answer, it is found by the next call, and every turn is started once`, async () => {
    for (let n = 1; ; n += 1) {
      const came = await hurt(loop, n, "ledger", stored);
      const starts = came.asked.filter((asked) => asked.startsWith("startTurn"));
      assert.equal(
        new Set(starts).size,
        starts.length,
        `call ${n}: no run is started twice: ${starts}`,
      );
      assert.equal(
        starts.length,
        unhurt.asked.filter((asked) => asked.startsWith("startTurn")).length,
        `call ${n}, ${came.failed}`,
      );
      if (came.failed === undefined) {
        assert.ok(n > 20, `the ledger was asked ${n - 1} times`);
        break;
      }
      assert.equal(came.thrown[0]?.code, "ledger_failed", `call ${n}, ${came.failed}`);
    }
  });

  test(`${name}: whichever call of the clock throws, that is thrown, and the next call works`, async () => {
    for (let n = 1; ; n += 1) {
      const came = await hurt(loop, n, "clock", throwing(new Error("no clock")));
      assert.deepEqual([came.head, came.asked], [unhurt.head, unhurt.asked], `call ${n}`);
      if (came.failed === undefined) {
        assert.ok(n > 20, `the clock was asked ${n - 1} times`);
        break;
      }
      assert.deepEqual(
        came.thrown.map(({ code, message }) => [code, message]),
        [["host_failed", "the clock failed: no clock"]],
        `call ${n}`,
      );
    }
  });

  test(`${name}: whichever call of the provider throws, no call of the loop does, and the story reaches its end`, async () => {
    const failed = new Set();
    for (let n = 1; ; n += 1) {
      const came = await hurt(loop, n, "provider", throwing(new Error("no model")));
      assert.deepEqual(came.thrown, [], `call ${n}, ${came.failed}`);
      if (came.failed === undefined) {
        assert.equal(came.head, unhurt.head);
        break;
      }
      failed.add(came.failed);
      assert.equal(
        new Set(came.asked).size,
        came.asked.length,
        `no run is started twice: ${came.asked}`,
      );
    }
    assert.deepEqual([...failed].sort(), ["provider.startTurn", "provider.yieldTurn"]);
  });
}

test("whichever call fails, both loops write the same ledger", async () => {
  const ways = [
    ["ledger", throwing(new Error("the disk is full"))],
    ["ledger", throwing(new wakeful.LedgerConflict(7))],
    ["provider", throwing(new Error("no model"))],
    ["clock", throwing(undefined)],
  ];
  for (const [part, wrong] of ways) {
    for (let n = 1; ; n += 1) {
      const [one, other] = await Promise.all(
        Object.values(LOOPS).map((loop) => hurt(loop, n, part, wrong)),
      );
      assert.deepEqual(one.lines, other.lines, `${part}, call ${n}`);
      assert.deepEqual(
        one.thrown.map(({ code, message }) => [code, message]),
        other.thrown.map(({ code, message }) => [code, message]),
        `${part}, call ${n}`,
      );
      if (one.failed === undefined && other.failed === undefined) {
        break;
      }
    }
  }
});
