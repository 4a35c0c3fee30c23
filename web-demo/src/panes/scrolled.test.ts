// Tests of the part of a long list that can be scrolled to.
import assert from "node:assert/strict";
import test from "node:test";

import { beginAround, MOST_ROWS } from "./scrolled.ts";

test("the cursor has room on both sides, wherever it is in a list of any length", () => {
  for (const length of [1, MOST_ROWS, MOST_ROWS + 1, 1_000_000, 3_000_001]) {
    for (let at = 0; at < length; at += Math.max(1, Math.floor(length / 997))) {
      const begin = beginAround(at, length);
      const end = Math.min(length, begin + MOST_ROWS);
      assert.ok(begin >= 0 && begin <= at && at < end, `${at} of ${length}: ${begin} to ${end}`);
      assert.ok(at - begin >= MOST_ROWS / 4 || begin === 0, `${at} of ${length} has room before`);
      assert.ok(end - at >= MOST_ROWS / 4 || end === length, `${at} of ${length} has room after`);
    }
  }
});

test("a cursor that moves on by one entry seldom moves the list", () => {
  let [moves, before] = [0, 0];
  for (let at = 0; at < 1_000_000; at += 1) {
    const begin = beginAround(at, 1_000_000);
    moves += begin === before ? 0 : 1;
    before = begin;
  }
  assert.equal(moves, 8);
});
