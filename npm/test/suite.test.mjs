// The suite for ledgers: a correct ledger passes, and for each broken one the suite names the
// broken rule.
import assert from "node:assert/strict";
import test from "node:test";

import { root } from "./package.mjs";

const { checkLedger, LedgerFault } = await import(
  new URL("target/npm/package/dist/ledger/suite.js", root).href
);
const { LedgerConflict, MemoryLedger } = await import(
  new URL("target/npm/package/dist/node.js", root).href
);

/**
 * Opens ledgers in memory with the faults of `odd`: methods that get the original call.
 */
function store(odd = {}, name = (agentId) => agentId) {
  const kept = new Map();
  return (agentId) => {
    const key = name(agentId, kept.size);
    const ledger = kept.get(key) ?? new MemoryLedger();
    kept.set(key, ledger);
    return {
      append: (expected, batch) =>
        (odd.append ?? ((...args) => ledger.append(...args)))(expected, batch, ledger),
      read: (after, limit) =>
        (odd.read ?? ((...args) => ledger.read(...args)))(after, limit, ledger),
    };
  };
}

test("a ledger in memory passes, synchronous and asynchronous", async () => {
  await checkLedger(store());
  const later = async (answer) => {
    await null;
    return answer();
  };
  const open = store();
  await checkLedger((agentId) => {
    const ledger = open(agentId);
    return later(() => ({
      append: (...args) => later(() => ledger.append(...args)),
      read: (...args) => later(() => ledger.read(...args)),
    }));
  });
});

test("each ledger is closed, and an exclusive one before it is opened again", async () => {
  const open = store();
  const closing = (exclusive) => {
    let [now, most, opened] = [0, 0, 0];
    const counted = (agentId) => {
      [now, opened] = [now + 1, opened + 1];
      most = Math.max(most, now);
      return { ...open(`${exclusive} ${agentId}`), close: () => void (now -= 1) };
    };
    return checkLedger(counted, { exclusive }).then(() => ({ now, most, opened }));
  };
  const [alone, beside] = [await closing(true), await closing(false)];
  assert.deepEqual([alone.now, alone.most, beside.now], [0, 1, 0]);
  assert.ok(
    beside.most > 1 && beside.opened > alone.opened,
    "rules about two instances are tested too",
  );
});

const pushed = (batch, ledger) => void (ledger.lines = [...ledger.lines, ...batch]);

const otherwise = {
  "has a line from the start": [
    store({
      read: (after, limit, { lines }) =>
        lines.length === 0 ? ["{}"] : lines.slice(after, after + limit),
    }),
    "gives 1 line `{}` instead of no line",
  ],
  "loses characters outside of ASCII": [
    store({
      read: (...args) => args[2].read(...args).map((line) => line.replaceAll(/[^ -~]/gu, "?")),
    }),
    "to the character and in order: this ledger gives 7 lines",
  ],
  "cuts long batches": [
    store({ append: (expected, batch, ledger) => ledger.append(expected, batch.slice(0, 1000)) }),
    "thousands of lines, and a line a megabyte: this ledger throws",
  ],
  "forgets when it is closed": [
    store({}, (agentId, opened) => `${agentId} ${opened}`),
    "a ledger that is opened again has what was appended: this ledger gives no line instead of 2 lines",
  ],
  "gives whole pages": [
    store({ read: (after, _, ledger) => ledger.read(after, 1e9) }),
    "asked for 0 after 0",
  ],
  "gives the last line again": [
    store({ read: (after, limit, ledger) => ledger.read(after === 5 ? 4 : after, limit) }),
    "asked for 1 after 5",
  ],
  "asks nothing": [
    store({ append: (_, batch, ledger) => pushed(batch, ledger) }),
    "stores it instead of throwing a conflict at entry 3, given a batch after the beginning",
  ],
  "compares only the position": [
    store({
      append: (expected, batch, ledger) => {
        if (expected.seq !== ledger.lines.length) {
          throw new LedgerConflict(ledger.lines.length);
        }
        pushed(batch, ledger);
      },
    }),
    "given a batch after the last line of another history of the same length",
  ],
  "names a wrong end": [
    store({
      append: (expected, batch, ledger) => {
        try {
          ledger.append(expected, batch);
        } catch ({ found }) {
          throw new LedgerConflict(found + 1);
        }
      },
    }),
    "throws a conflict at entry 4 instead of a conflict at entry 3",
  ],
  "fails without a conflict": [
    store({
      append: (expected, batch, ledger) => {
        if (expected.seq !== ledger.lines.length) {
          throw new Error("no");
        }
        ledger.append(expected, batch);
      },
    }),
    "throws `no` instead of a conflict at entry 3",
  ],
  "mixes agents": [
    store({}, (agentId) => agentId.replace(/.$/, "")),
    "a ledger has only the lines of its own agent: this ledger throws",
  ],
  "does not open": [
    () => Promise.reject(new Error("no disk")),
    "a ledger is empty before the first append: this ledger throws `no disk`",
  ],
};

for (const [name, [open, says]] of Object.entries(otherwise)) {
  test(`the suite finds a ledger that ${name}`, async () => {
    await assert.rejects(checkLedger(open), (error) => {
      assert.ok(error instanceof LedgerFault, String(error));
      assert.ok(error.message.includes(says), error.message);
      assert.ok(error.message.startsWith(`${error.law}: this ledger `));
      return true;
    });
  });
}

test("the suite finds a ledger that sees only what was there when it was opened", async () => {
  const stale = (open) => (agentId) => {
    const ledger = open(agentId);
    const seen = ledger.read(0, 1e9);
    return {
      append: (expected, batch) => {
        ledger.append(expected, batch);
        seen.push(...batch);
      },
      read: (after, limit) => seen.slice(after, after + limit),
    };
  };
  await assert.rejects(
    checkLedger(stale(store())),
    /of two instances, .*: this ledger gives no line instead of 1 line/,
  );
  await checkLedger(stale(store()), { exclusive: true });
});

test("a store that was used before is told from a wrong ledger", async () => {
  const store = new Map();
  const open = (agentId) => {
    store.set(agentId, store.get(agentId) ?? new MemoryLedger());
    return store.get(agentId);
  };
  await checkLedger(open);
  await assert.rejects(checkLedger(open), /a new, empty store each time: this ledger has lines of/);
});
