// The snippets of npm/README.md for pages run in a real browser, and show what the page says.
import assert from "node:assert/strict";
import test from "node:test";

import { openBrowser } from "./browser.mjs";
import { project, script } from "./package.mjs";
import { blocks } from "./snippets.mjs";

test("the snippets for a worker, for a page and for the slim entry run, built by Vite", async () => {
  const html = (text) =>
    `<!doctype html><link rel="icon" href="data:,"><body><script type="module">${text}</script>`;
  const shown = "document.body.textContent";
  const folder = await project("readme-browser", {
    "package.json": JSON.stringify({
      private: true,
      type: "module",
      scripts: { build: "vite build" },
    }),
    "vite.config.js": `export default {
      base: "./", worker: { format: "es" }, build: { target: "es2023", rolldownOptions: { input: ["worker.html", "page.html", "slim.html"] } },
    };`,
    "worker.js": blocks["js worker"],
    "worker.html": html(
      `const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" }); worker.onmessage = ({ data }) => (${shown} = data);`,
    ),
    "page.js": blocks["js page"],
    "page.html": html(`import "./page.js";`),
    "slim.js": `${blocks["js slim"].replace('core.wasm";', 'core.wasm?url";')}${shown} = new MemoryLedger().lines.length + typeof Scheduler.drive;`,
    "slim.html": html(`import "./slim.js";`),
  });
  await script(folder, "build");
  const browser = await openBrowser({ built: new URL("dist/", folder) });
  try {
    for (const [name, says] of [
      ["worker", "2"],
      ["page", "WaitForTimer"],
      ["slim", "0function"],
    ]) {
      const tab = await browser.tab(`built/${name}.html`);
      await tab.waitForFunction(() => document.body.textContent.trim() !== "");
      assert.equal(await tab.textContent("body"), says, name);
    }
    assert.deepEqual(browser.troubles, []);
  } finally {
    await browser.close();
  }
});
