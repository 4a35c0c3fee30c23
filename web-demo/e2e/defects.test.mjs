// What browsers refuse, and what is missing: the page says so, and everything else goes on.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { choose, goTo, newPage, opened, openFile, openWorkbench, shoot, visit } from "./page.mjs";

const bundle = JSON.parse(await readFile(new URL("../dist/bundle.json", import.meta.url), "utf8"));
let workbench;

before(async () => {
  workbench = await openWorkbench();
});
after(() => workbench?.close());

/** A fresh page before it loads, whose console may have errors. */
async function onFresh(use, options) {
  const { page, troubles, close } = await newPage(workbench.browser, options);
  try {
    await use(page, troubles);
  } finally {
    await close();
  }
}

for (const [what, block] of [
  [
    "that throws",
    () => {
      const refuse = {
        configurable: true,
        get() {
          throw new DOMException("access is denied", "SecurityError");
        },
      };
      for (const name of ["localStorage", "sessionStorage", "indexedDB", "caches"]) {
        Object.defineProperty(window, name, refuse);
      }
      Object.defineProperty(Navigator.prototype, "storage", refuse);
      Object.defineProperty(Navigator.prototype, "locks", refuse);
    },
  ],
  [
    "that is missing",
    () => {
      const none = { configurable: true, value: undefined };
      for (const name of ["localStorage", "sessionStorage", "indexedDB", "caches"]) {
        Object.defineProperty(window, name, none);
      }
      Object.defineProperty(Navigator.prototype, "storage", none);
      Object.defineProperty(Navigator.prototype, "locks", none);
    },
  ],
]) {
  test(`the page works with a storage ${what}`, () =>
    onFresh(
      async (page, troubles) => {
        await page.addInitScript(block);
        await page.goto(workbench.url);
        await opened(page, "heartbeat");
        const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
        assert.equal(await theme(), "light");
        await page.getByRole("button", { name: "Dark theme" }).click();
        assert.equal(await theme(), "dark", "the choice holds until the page is closed");
        await page.getByRole("tab", { name: "Live" }).click();
        await page.getByText("No agent runs here").waitFor();
        await choose(page, "release");
        assert.deepEqual(troubles, []);
      },
      { colorScheme: "light" },
    ));
}

/** Starts a live agent with virtual time. */
async function startAgent(page) {
  await page.getByRole("tab", { name: "Live" }).click();
  await page.getByRole("button", { name: "Start an agent" }).click();
  await opened(page, "live agent");
}

/** Sends this as the operator of the live agent. */
async function tell(page, words) {
  await page.getByLabel("message of the operator").fill(words);
  await page.getByRole("button", { name: "Send" }).click();
}

test("without a clipboard, copying says what is missing", () =>
  onFresh(async (page, troubles) => {
    await page.addInitScript(() =>
      Object.defineProperty(Navigator.prototype, "clipboard", { value: undefined }),
    );
    await page.goto(workbench.url);
    await opened(page, "heartbeat");
    await page.getByRole("button", { name: "Copy line" }).click();
    await page.getByRole("button", { name: "Not allowed" }).waitFor();
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("menuitem", { name: /^Test of what it decides now/ }).click();
    const dialog = page.getByRole("dialog", { name: "The test is saved" });
    await dialog.getByRole("button", { name: "Copy" }).click();
    await dialog.getByRole("button", { name: "Not allowed" }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("menuitem", { name: /Copy a link/ }).click();
    await page
      .getByRole("alert")
      .getByText(/only pages on https or localhost copy/)
      .waitFor();
    assert.deepEqual(troubles, []);
  }));

test("a full storage is said with its size, and the agent goes on when there is space", () =>
  onFresh(async (page) => {
    await page.goto(workbench.url);
    await opened(page, "heartbeat");
    await startAgent(page);
    await page.getByLabel("Virtual").click();
    await tell(page, "while there is space");
    await page.locator(".entry-summary", { hasText: "while there is space" }).waitFor();
    const session = await page.context().newCDPSession(page);
    const origin = new URL(workbench.url).origin;
    const { usage } = await session.send("Storage.getUsageAndQuota", { origin });
    await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: usage + 20_000 });
    const live = page.locator(".live");
    const full = live.getByText(/The browser's storage for this page is full: .* are used/);
    for (let sent = 0; sent < 40 && (await full.count()) === 0; sent += 1) {
      await tell(page, `long ${sent} ${"x".repeat(4_000)}`);
      await page.waitForTimeout(150);
    }
    await full.waitFor();
    await shoot(page, "storage-full");
    const says = await live.innerText();
    assert.doesNotMatch(says, /another (program|writer|tab)/, "it is nobody else's write");
    await session.send("Storage.overrideQuotaForOrigin", { origin });
    await full.waitFor({ state: "detached", timeout: 10_000 });
    await tell(page, "after there was space");
    await page.locator(".entry-summary", { hasText: "after there was space" }).waitFor();
    await page.reload();
    await opened(page, "live agent");
    await page.getByRole("tab", { name: "Live" }).click();
    await page.getByText("running", { exact: true }).waitFor();
    await page.keyboard.press("f");
    await page.getByLabel("search entries").fill("while there is space");
    await page.locator(".entry-summary", { hasText: "while there is space" }).first().waitFor();
    await page.getByLabel("search entries").fill("after there was space");
    await page.locator(".entry-summary", { hasText: "after there was space" }).first().waitFor();
  }));

test("without a network, everything works that was never loaded before", () =>
  onFresh(async (page) => {
    await page.goto(workbench.url);
    await page.waitForFunction(() => document.documentElement.dataset.offline === "kept");
    await page.context().setOffline(true);
    await page.reload();
    await opened(page, "heartbeat");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Commands" }).waitFor();
    await page.keyboard.press("Escape");
    await startAgent(page);
    await page.getByRole("combobox", { name: "fact", exact: true }).waitFor();
    assert.equal(await page.getByText(/cannot be read/).count(), 0);
    await tell(page, "without a network");
    await page.locator(".entry-summary", { hasText: "without a network" }).waitFor();
  }));

for (const [what, answer] of [
  ["is missing", { status: 404, body: "not found" }],
  ["is a page of the server", { status: 200, contentType: "text/html", body: "<!doctype html>" }],
]) {
  test(`if the bundle ${what}, the page says so, and everything else works`, () =>
    onFresh(async (page) => {
      await page.route("**/bundle.json", (route) => route.fulfill(answer));
      await page.goto(workbench.url);
      const alarm = page.getByRole("alert").filter({ hasText: "The examples are missing" });
      await alarm.waitFor();
      await page.getByText("The examples are missing.", { exact: true }).waitFor();
      assert.equal(await page.getByText(/^Loading/).count(), 0);
      await page.getByRole("heading", { name: "Nothing is open" }).waitFor();
      await shoot(page, "no-bundle");
      await page.getByRole("button", { name: "Live agent" }).click();
      await page.getByRole("button", { name: "Start an agent" }).click();
      await opened(page, "live agent");
      const heartbeat = bundle.cases.find((known) => known.case === "heartbeat");
      const lines = heartbeat.trace.steps
        .flatMap((step) => step.entries)
        .map((entry) => `${JSON.stringify(entry)}\n`);
      await openFile(page, "mine.jsonl", lines.join(""));
      await opened(page, "mine.jsonl");
    }));
}

for (const [what, block] of [
  [
    "no folder",
    'Object.defineProperty(WorkerNavigator.prototype, "storage", { value: undefined });',
  ],
  ["no synchronous files", "delete FileSystemFileHandle.prototype.createSyncAccessHandle;"],
  [
    "a refused folder",
    'StorageManager.prototype.getDirectory = () => Promise.reject(new DOMException("no", "SecurityError"));',
  ],
]) {
  test(`a browser with ${what} for pages is told what it lacks`, () =>
    onFresh(
      async (page) => {
        await page.route("**/live-worker-*.js", async (route) => {
          const response = await route.fetch();
          await route.fulfill({ response, body: `${block}\n${await response.text()}` });
        });
        await page.goto(workbench.url);
        await opened(page, "heartbeat");
        await page.getByRole("tab", { name: "Live" }).click();
        await page.getByRole("button", { name: "Start an agent" }).click();
        const says = page.locator(".live-refused");
        await says.waitFor();
        assert.match(
          await says.innerText(),
          /the live agent needs files of its own in the browser \(OPFS/,
        );
        assert.match(
          await says.innerText(),
          /everything in this page but the live agent works without it/,
        );
        if (what !== "a refused folder") {
          assert.match(await says.innerText(), /Chrome and Edge from 108, Firefox from 111/);
        }
        await choose(page, "release");
      },
      // A service worker would fetch the script by itself.
      { serviceWorkers: "block" },
    ));
}

test("with Live selected, something else that is opened stays open", () =>
  visit(workbench, async (page) => {
    await startAgent(page);
    await choose(page, "release");
    await page.waitForTimeout(500);
    assert.equal(await page.locator(".badge").getAttribute("data-case"), "release");
    await page.getByRole("button", { name: "Show its ledger" }).click();
    await opened(page, "live agent");
    assert.equal(await page.getByRole("button", { name: "Show its ledger" }).count(), 0);
    await page.reload();
    await opened(page, "live agent");
    await choose(page, "heartbeat");
    await page.reload();
    await opened(page, "heartbeat");
    await page.getByText("running", { exact: true }).waitFor();
    await page.waitForTimeout(300);
    assert.equal(await page.locator(".badge").getAttribute("data-case"), "heartbeat");
  }));

test("the commands that the page prints about a file with two agents are right", async () => {
  const folder = await mkdtemp(join(tmpdir(), "wakeful-commands-"));
  try {
    await symlink(process.env.WAKEFUL, join(folder, "wakeful"));
    const run = (command) =>
      execFileSync("sh", ["-c", command], {
        cwd: folder,
        encoding: "utf8",
        stdio: "pipe",
        env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
      });
    const story = new URL("../../tests/fixtures/stories/heartbeat.json", import.meta.url);
    await symlink(story.pathname, join(folder, "story.json"));
    for (const agent of ["ada", "bob"]) {
      run(
        `wakeful run --ledger 'two agents.sqlite' --agent ${agent} --virtual --until-rest --story story.json`,
      );
    }
    // What src/frame/acts.test.ts says that the page prints.
    const at = "--ledger 'two agents.sqlite' --agent bob";
    run(`wakeful send ${at} prompt 'what you want to say'`);
    run(`wakeful send ${at} stop`);
    run(`wakeful send ${at} start`);
    run(`wakeful send ${at} budget --tokens-per-day 10`);
    run(`wakeful send ${at} grant --tokens 10000`);
    run(`wakeful trigger ${at} create ci`);
    run(`wakeful send ${at} deliver --trigger ci 'what you want to say'`);
    await onFresh(async (page) => {
      await page.goto(workbench.url);
      await opened(page, "heartbeat");
      const path = join(folder, "two agents.sqlite");
      await page
        .locator('input[aria-label="file to open"]')
        .setInputFiles([path, `${path}-wal`].filter((part) => existsSync(part)));
      await page.getByRole("button", { name: "Start its process: ada" }).click();
      await opened(page, "ada in two agents.sqlite");
      const said = page.getByRole("dialog", { name: "Start its process" }).locator(".command");
      const command = "wakeful run --ledger 'two agents.sqlite' --agent ada";
      assert.equal(await said.innerText(), command);
      run(`${await said.innerText()} --help`);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a diagnostic that only holds inside a batch is said to be doubtful", () =>
  visit(workbench, async (page) => {
    await choose(page, "heartbeat");
    await page.getByRole("tab", { name: "State" }).click();
    const entries = bundle.cases
      .find((known) => known.case === "heartbeat")
      .trace.steps.flatMap((step) => step.entries);
    // A tick: its message, and its place in the queue.
    const tick = entries.find(
      (entry, at) => entry.record.kind === "system_tick" && entries[at + 1]?.at === entry.at,
    );
    const shown = (seq) =>
      page.locator(".pane-state .pane-head", { hasText: new RegExp(`^head #${seq}$`) }).waitFor();
    await goTo(page, "heartbeat", tick.seq);
    await shown(tick.seq);
    const doubt = page.getByRole("note");
    await doubt.getByText(/Perhaps inside a batch/).waitFor();
    await shoot(page, "mid-batch");
    await doubt.getByRole("button", { name: `entry ${tick.seq + 1}` }).click();
    await shown(tick.seq + 1);
    assert.equal(await page.locator(".diagnostic").count(), 0, "it was never true");
    assert.equal(await doubt.count(), 0);
  }));
