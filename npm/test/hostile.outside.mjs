// Hostile hosts in a real browser: every case over both loops.
import assert from "node:assert/strict";
import test from "node:test";

import { call, openBrowser } from "./browser.mjs";
import { cases, LOOPS } from "./hostile.mjs";
import { wakeful } from "./stories.mjs";

test("the same cases hold in a browser", async () => {
  const browser = await openBrowser({ test: new URL("./", import.meta.url) });
  try {
    const page = await browser.tab("pages/hostile.html");
    await page.waitForFunction(() => window.call !== undefined);
    for (const loop of LOOPS) {
      const { count, failed } = await call(page, loop);
      assert.deepEqual([count, failed], [cases(wakeful, loop).length, []]);
    }
    assert.deepEqual(browser.troubles, []);
  } finally {
    await browser.close();
  }
});
