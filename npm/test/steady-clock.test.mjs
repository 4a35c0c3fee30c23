// SteadyClock: time passes while the host's clock is behind the ledger, and a trusted clock sets
// the ledger back.
import assert from "node:assert/strict";
import test from "node:test";

import { IDLE, wakeful } from "./stories.mjs";

const { AsyncScheduler, MemoryLedger, Scheduler, SteadyClock } = wakeful;

const MS = 1_000_000n;
const HOUR = 3_600_000;
const RIGHT = 1_779_872_400_000n * MS;

for (const Kind of [Scheduler, AsyncScheduler]) {
  for (const trusted of [false, true]) {
    const kind = `${Kind.name}, ${trusted ? "trusted" : "not trusted"}`;
    test(`a timer of a clock that was ahead fires in time: ${kind}`, async () => {
      let ahead = 48n * BigInt(HOUR) * MS;
      let passed = 0;
      const clock = new SteadyClock(
        { now: () => RIGHT + ahead + BigInt(passed) * MS },
        { trusted, monotonic: () => passed },
      );
      const host = { ledger: new MemoryLedger(), clock, provider: IDLE };
      const scheduler = await Kind.drive({ agent_id: "default" }, host);
      const turn = { passes: 0 };
      const lives = async () => {
        const done = await clock.keepTime(scheduler);
        await scheduler.runUntilRest();
        turn.passes += 1;
        return done;
      };
      await lives();
      await scheduler.propose({ fact: "timer_created", timer_id: "t", duration_ms: HOUR });
      await lives();
      // The clock is right again.
      ahead = 0n;
      assert.equal(await lives(), "reported");
      passed += 61_000;
      assert.equal(await lives(), trusted ? "corrected" : undefined);
      passed += HOUR - 62_000;
      await lives();
      assert.equal((await scheduler.state()).turns.turn_index, 0, "not before its time");
      passed += 2_000;
      await lives();
      assert.equal((await scheduler.state()).turns.turn_index, 1, "in time");
      assert.equal(turn.passes, 6);
      await (scheduler.close?.() ?? scheduler.free());
    });
  }
}
