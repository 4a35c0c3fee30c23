// The IndexedDB ledger in a real browser: it survives a reload, and two tabs that write at once
// lose nothing.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";

import { call, openBrowser } from "./browser.mjs";

let browser;
before(async () => {
  browser = await openBrowser();
});
after(() => browser?.close());

const tab = async () => {
  const page = await browser.tab("pages/indexeddb.html");
  await page.waitForFunction(() => window.call !== undefined);
  return page;
};

test("an agent's ledger is there after a reload", async () => {
  const page = await tab();
  assert.equal((await call(page, "open", "a")).seq, 2);
  assert.equal(await call(page, "say", "m1"), "accepted");
  const lines = await call(page, "lines");
  await page.reload();
  await page.waitForFunction(() => window.call !== undefined);
  await call(page, "open", "a");
  assert.deepEqual((await call(page, "lines")).slice(0, lines.length), lines);
  await page.close();
});

test("it does what every ledger does", async () => {
  const page = await tab();
  await page.evaluate(async () => {
    const { checkLedger } = await import("/package/dist/ledger/suite.js");
    const { openIndexedDbLedger } = await import("/package/dist/ledger/indexeddb.js");
    await checkLedger(openIndexedDbLedger);
  });
  await page.close();
});

test("of two writers the later one gets a conflict, reads what is new, and repeats the call", async () => {
  const [first, second] = [await tab(), await tab()];
  await call(first, "open", "two");
  await call(second, "open", "two");
  const { error } = await call(first, "say", "m1");
  assert.deepEqual([error.name, error.code], ["WakefulError", "conflict"]);
  assert.ok((await call(first, "catchUp")) > 0);
  assert.equal(await call(first, "say", "m1"), "accepted");
  await Promise.all([first.close(), second.close()]);
});

test("two tabs that write at once lose nothing and write nothing twice", async () => {
  const tabs = [await tab(), await tab()];
  for (const page of tabs) {
    await call(page, "open", "race");
  }
  const ids = tabs.map((_, tab) => Array.from({ length: 15 }, (_, index) => `m-${tab}-${index}`));
  const answers = await Promise.all(
    tabs.map((page, index) =>
      page.evaluate((ids) => Promise.all(ids.map((id) => window.call("insist", id))), ids[index]),
    ),
  );
  assert.deepEqual(answers.flat(), Array(30).fill("accepted"));
  await call(tabs[0], "catchUp");
  const [head, lines] = [await call(tabs[0], "head"), await call(tabs[0], "lines")];
  assert.equal(lines.length, head.seq, "every line was verified");
  for (const id of ids.flat()) {
    assert.equal(
      lines.filter((line) => line.includes('"class":"messages"') && line.includes(`"id":"${id}"`))
        .length,
      1,
      id,
    );
  }
  await Promise.all(tabs.map((page) => page.close()));
});

test("nothing went wrong in any tab", () => {
  assert.deepEqual(browser.troubles, []);
});
