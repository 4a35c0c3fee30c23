// The page as `wakeful serve` hands it out: it lists the agents of the server and follows one.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { axe, newPage, opened, openWorkbench, overflow, shoot } from "./page.mjs";

const dist = fileURLToPath(new URL("../dist", import.meta.url));
let workbench, server, folder, url, token;

before(async () => {
  workbench = await openWorkbench();
  folder = await mkdtemp(join(tmpdir(), "wakeful-served-"));
  server = spawn(process.env.WAKEFUL ?? "wakeful", [
    "serve",
    "--listen",
    "127.0.0.1:0",
    "--no-socket",
    "--workbench",
    dist,
    "--ledger",
    join(folder, "agents.sqlite"),
  ]);
  let printed = "";
  for await (const part of server.stdout) {
    printed += part;
    const link = /the workbench: (\S+)#token=(\S+)/.exec(printed);
    if (link !== null) {
      [, url, token] = link;
      break;
    }
  }
});
after(async () => {
  server?.kill("SIGINT");
  await workbench?.close();
  await rm(folder, { recursive: true });
});

const ask = async (method, path, body) => {
  const answer = await fetch(`${url}v1/agents/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    body: body && JSON.stringify(body),
  });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.status === 204 ? null : answer.json();
};

test("the page lists the agents of its server and shows new entries as they come", async () => {
  await ask("PUT", "ada", { turns: "elsewhere" });
  await ask("PUT", "bob", { turns: "elsewhere" });
  const { page, troubles, close } = await newPage(workbench.browser);
  try {
    await page.goto(`${url}#token=${token}`);
    await opened(page, "agent ada");
    assert.ok(!page.url().includes("wks_"), "the token is not in the address");
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
    assert.equal(await page.evaluate(() => document.cookie), "", "no script can read it");
    const agents = page.getByRole("region", { name: "agents of this server" });
    await agents.getByRole("button", { name: "ada" }).waitFor();
    await ask("POST", "ada/messages", { text: "look at the build" });
    await page.locator(".entry-summary", { hasText: "look at the build" }).waitFor();
    await agents.getByText("active turn").waitFor();
    await shoot(page, "served");
    assert.equal(await overflow(page), 0);
    await agents.getByRole("button", { name: "bob" }).click();
    await opened(page, "agent bob");
    await page.waitForURL(({ hash }) => decodeURIComponent(hash).startsWith("#agent bob/"));
    await page.reload();
    await opened(page, "agent bob");
    const workers = await page.evaluate(() => navigator.serviceWorker.getRegistrations());
    assert.deepEqual(workers, [], "nothing is kept for offline use");
    // A stream that the page no longer follows is broken off by the page.
    const others = troubles.filter((told) => !/entries\?after=\d+ net::ERR_ABORTED$/.test(told));
    assert.deepEqual(others, []);
  } finally {
    await close();
  }
});

test("a file of a server says that its server is to be started", async () => {
  const { page, close } = await newPage(workbench.browser);
  try {
    // An hour later, at which nothing else has come.
    await page.clock.setSystemTime(Date.now() + 3_600_000);
    await page.goto(workbench.url);
    await opened(page, "heartbeat");
    const file = join(folder, "agents.sqlite");
    await page.locator('input[aria-label="file to open"]').setInputFiles([file, `${file}-wal`]);
    await page.getByRole("button", { name: "Start its process: ada" }).click();
    const dialog = page.getByRole("dialog", { name: "Start its process" });
    await dialog.getByText(/Your host that runs its turns goes on with them/).waitFor();
    assert.equal(
      await dialog.locator(".command").innerText(),
      "wakeful serve --ledger agents.sqlite",
    );
  } finally {
    await close();
  }
});

test("without a token the page asks for one, and a wrong one is refused", async () => {
  const { page, close } = await newPage(workbench.browser);
  try {
    await page.goto(url);
    const field = page.getByLabel("Token of this server");
    await field.fill("wks_0");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await shoot(page, "served-sign-in");
    await field.fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await opened(page, "agent ada");
    assert.equal(await field.count(), 0);
  } finally {
    await close();
  }
});

for (const colorScheme of ["light", "dark"]) {
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ]) {
    test(`axe finds nothing on the served page, ${colorScheme}, ${width} px`, async () => {
      const { page, close } = await newPage(workbench.browser, {
        colorScheme,
        viewport: { width, height },
        // The policy of the page lets in no script of a test, and the test above runs under it.
        bypassCSP: true,
      });
      try {
        await page.goto(url);
        await page.getByLabel("Token of this server").waitFor();
        const found = (await axe(page)).map((violation) => `signing in: ${violation}`);
        await page.goto(`${url}#token=${token}`);
        await page.reload();
        await opened(page, "agent ada");
        await shoot(page, `served-${colorScheme}-${width}`);
        found.push(...(await axe(page)).map((violation) => `an agent: ${violation}`));
        assert.deepEqual([...new Set(found)], []);
        assert.equal(await overflow(page), 0);
      } finally {
        await close();
      }
    });
  }
}
