// The OPFS ledger in a real browser: it survives a reload and a torn tail, and only one tab at a
// time can open it.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";

import { call, openBrowser } from "./browser.mjs";

let browser;
before(async () => {
  browser = await openBrowser();
});
after(() => browser?.close());

const tab = async () => {
  const page = await browser.tab("pages/opfs.html");
  await page.waitForFunction(() => window.call !== undefined);
  return page;
};

test("an agent's ledger is there after a reload, and the agent continues", async () => {
  const page = await tab();
  assert.deepEqual((await call(page, "open", "a/b: ü")).seq, 2);
  assert.equal(await call(page, "say", "m1"), "accepted");
  const lines = await call(page, "lines");
  await page.reload();
  await page.waitForFunction(() => window.call !== undefined);
  const head = await call(page, "open", "a/b: ü");
  const again = await call(page, "lines");
  assert.deepEqual(again.slice(0, lines.length), lines);
  assert.ok(again.at(-1).includes(head.chain));
  // contract 5.23: the run of the closed page is interrupted, and its message replays.
  assert.equal(again.filter((line) => line.includes("interrupted")).length > 0, true);
  await page.close();
});

test("a second tab is refused with a typed error, and gets the ledger when it waits", async () => {
  const [first, second] = [await tab(), await tab()];
  await call(first, "open", "shared");
  const refused = await call(second, "open", "shared");
  assert.deepEqual([refused.error.name, refused.error.code], ["WakefulError", "in_use"]);
  assert.match(refused.error.message, /close it there, or open it with `wait: true`/);
  assert.equal((await call(second, "open", "other")).seq, 2, "the ledger of another agent is free");
  const waited = call(second, "open", "shared", { wait: true });
  await call(first, "say", "m1");
  const last = await call(first, "head");
  await call(first, "close");
  assert.ok((await waited).seq > last.seq);
  // A closed tab releases the lock too.
  await second.close();
  const freed = await call(first, "open", "shared", { wait: true });
  assert.ok(freed.seq > last.seq);
  await first.close();
});

test("a torn tail is removed: the batch is absent, and the ledger works", async () => {
  const page = await tab();
  await call(page, "open", "torn");
  await call(page, "say", "m1");
  const lines = await call(page, "lines");
  await call(page, "close");
  assert.equal(await call(page, "tear", "torn", 1), "torn");
  const head = await call(page, "open", "torn");
  assert.ok((await call(page, "cut")) > 0);
  const again = await call(page, "lines");
  assert.equal(again.length, head.seq);
  const kept = lines.findIndex((line, index) => line !== again[index]);
  assert.ok(
    kept >= 4 && kept < lines.length,
    `the last batch of ${lines.length} lines is gone, ${kept} are the same`,
  );
  assert.equal(await call(page, "say", "m2"), "accepted");
  await page.close();
});

test("outside of a dedicated worker the error says what to use", async () => {
  const page = await tab();
  const { error } = await page.evaluate(() => window.openHere("a"));
  assert.deepEqual([error.name, error.code], ["WakefulError", "cannot_open"]);
  assert.match(error.message, /dedicated worker/);
  await page.close();
});

test("nothing went wrong in any tab", () => {
  assert.deepEqual(browser.troubles, []);
});
