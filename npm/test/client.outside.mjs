// `@wakeful/scheduler/client` in a browser, in a page of another origin, and in Bun.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import test, { after, before } from "node:test";

import { openBrowser } from "./browser.mjs";
import { project, script } from "./package.mjs";
import { Served } from "./served.mjs";

const folder = await project("client-outside", {});
const entry = new URL("node_modules/@wakeful/scheduler/dist/client/client.js", folder);
const { WakefulClient } = await import(entry.href);

let served;
let client;

before(async () => {
  served = await Served.start();
  client = new WakefulClient(served);
});
after(() => served?.end());

/** Reads an agent to its head, and says how much there is; in any runtime. */
const READER = (url, token) => `
import { WakefulClient } from "@wakeful/scheduler/client";
const agent = new WakefulClient({ url: "${url}", token: "${token}" }).agent("anywhere");
await agent.say("hello", { key: "h" });
await agent.openTurn({ wait: 20 });
let last;
for await (const { seq, chain } of agent.entries({ after: 1 })) {
  last = [seq, chain].join(" ");
  if (seq === 6) break;
}
`;

test("the client runs in a browser, in a page of another origin, and in Bun", async () => {
  const agent = client.agent("anywhere");
  await agent.put({ turns: "elsewhere" });
  const place = await project("client-anywhere", {
    "package.json": JSON.stringify({
      private: true,
      type: "module",
      scripts: {
        bun: "bun main.mjs",
        build: "esbuild page.mjs --bundle --format=esm --outfile=page.js",
      },
    }),
    "main.mjs": `${READER(served.url, served.token)}console.log(last);`,
    "page.html": `<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="page.js"></script>`,
  });
  const said = await script(place, "bun");
  const browser = await openBrowser({ client: place });
  try {
    // The origin of the page is known only now, and the server must be told.
    await served.kill();
    await served.again("--allow-origin", browser.address);
    const page = `${READER(served.url, served.token)}document.body.textContent = last;`;
    await writeFile(new URL("page.mjs", place), page);
    await script(place, "build");
    const tab = await browser.tab("client/page.html");
    await tab.waitForFunction(() => document.body.textContent.trim() !== "");
    const line = JSON.parse((await served.lines("anywhere"))[5]);
    assert.equal(await tab.textContent("body"), `6 ${line.chain}`);
    assert.equal(said, `6 ${line.chain}\n`);
    assert.deepEqual(browser.troubles, []);
  } finally {
    await browser.close();
  }
});
