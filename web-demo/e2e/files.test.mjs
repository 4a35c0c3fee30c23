// What people have and drop on the page: ledger files of SQLite with their WAL, stories in TOML,
// folders with several ledgers, and data folders of another runtime.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { opened, openWorkbench, visit } from "./page.mjs";

const stories = fileURLToPath(new URL("../../tests/fixtures/stories/", import.meta.url));
/** Data folders of the reference runtime, which only some have. */
const HOLON = fileURLToPath(new URL("../../../shared/conformance/ledgers", import.meta.url));
let workbench, scratch, store;

before(async () => {
  if (!process.env.WAKEFUL) {
    throw new Error("set WAKEFUL to the program of the native host, as `cargo xtask test` does");
  }
  scratch = await mkdtemp(join(tmpdir(), "wakeful-files-"));
  workbench = await openWorkbench();
  store = join(scratch, "agents.sqlite");
  await runUntilKilled(store, "heartbeat.json", "heart");
  await runUntilKilled(store, "release.toml", "release");
});
after(async () => {
  await workbench?.close();
  if (scratch !== undefined) {
    await rm(scratch, { recursive: true });
  }
});

const onPage = (use) => visit(workbench, use);
const text = (page, selector) => page.locator(selector).innerText();
const choose = (page, ...paths) =>
  page.locator('input[aria-label="file to open"]').setInputFiles(paths);

/** Runs an agent and kills its process, so that its newest entries are only in the WAL. */
async function runUntilKilled(ledger, story, agent) {
  const running = spawn(
    process.env.WAKEFUL,
    ["run", "--ledger", ledger, "--agent", agent, "--story", join(stories, story)],
    { stdio: "ignore" },
  );
  const ended = new Promise((done) => running.once("exit", done));
  const size = () =>
    stat(`${ledger}-wal`).then(
      ({ size }) => size,
      () => 0,
    );
  const before = await size();
  for (let same = 0, last = 0; same < 5;) {
    await new Promise((done) => setTimeout(done, 100));
    const now = await size();
    same = now > before && now === last ? same + 1 : 0;
    last = now;
  }
  running.kill("SIGKILL");
  await ended;
}

/** What the native core reads from a copy; a reader may move a WAL into its file. */
async function native(agent) {
  const copy = join(scratch, "copy.sqlite");
  for (const part of ["", "-wal"]) {
    await copyFile(`${store}${part}`, `${copy}${part}`);
  }
  const lines = execFileSync(process.env.WAKEFUL, ["log", copy, "--agent", agent, "--json"], {
    encoding: "utf8",
  });
  await rm(`${copy}-shm`, { force: true });
  return lines.trimEnd().split("\n");
}

const badge = (lines) => `Verified, ${JSON.parse(lines.at(-1)).chain.slice(0, 8)}`;

test("a ledger file of SQLite opens with the entries that are only in its WAL", () =>
  onPage(async (page) => {
    const lines = await native("heart");
    await choose(page, store, `${store}-wal`, `${store}-shm`);
    await page.locator('.store-agent[data-agent="heart"]').click();
    await opened(page, "heart in agents.sqlite");
    assert.equal(await text(page, ".badge"), badge(lines));
    assert.equal(await text(page, ".cursor-count"), `#${lines.length} of ${lines.length}`);
    assert.equal((await text(page, ".kind")).toLowerCase(), "ledger");
    assert.equal(await page.locator(".alarm").count(), 0);
  }));

test("a ledger file without its WAL says what is missing", () =>
  onPage(async (page) => {
    await choose(page, store);
    await page
      .getByRole("alert")
      .getByText(/without agents\.sqlite-wal/)
      .waitFor();
    // A file that has entries itself opens, with the same words.
    const bytes = await readFile(store);
    assert.deepEqual([bytes[18], bytes[19]], [2, 2], "it is in WAL mode");
  }));

test("a file of another program is refused in words", () =>
  onPage(async (page) => {
    const other = join(scratch, "other.sqlite");
    const bytes = await readFile(store);
    await writeFile(other, bytes.fill(1, 68, 72));
    await choose(page, other);
    await page
      .getByRole("alert")
      .getByText(/other\.sqlite is not a ledger file of Wakeful/)
      .waitFor();
  }));

test("a story in TOML is played to the head that the native core has", () =>
  onPage(async (page) => {
    for (const story of ["release", "budget", "callback"]) {
      const path = join(stories, `${story}.toml`);
      await choose(page, path);
      await opened(page, `${story}.toml`);
      const trace = JSON.parse(
        execFileSync(join(dirname(process.env.WAKEFUL), "lab"), ["trace", path], {
          encoding: "utf8",
          maxBuffer: 1 << 28,
        }),
      );
      const { chain } = trace.steps.at(-1).explanation.head;
      assert.equal(await text(page, ".badge"), `Verified, ${chain.slice(0, 8)}`, story);
    }
    const broken = join(scratch, "broken.toml");
    await writeFile(broken, 'story = "a"\nshows = \n');
    await choose(page, broken);
    await page
      .getByRole("alert")
      .getByText(/broken\.toml, line 2, column \d+/)
      .waitFor();
  }));

test("a folder with several ledgers lists their agents by state", () =>
  onPage(async (page) => {
    const folder = join(scratch, "backup");
    await mkdir(join(folder, "deep"), { recursive: true });
    const lines = await native("release");
    await writeFile(join(folder, "release.jsonl"), `${lines.join("\n")}\n`);
    await copyFile(store, join(folder, "deep", "agents.sqlite"));
    await copyFile(`${store}-wal`, join(folder, "deep", "agents.sqlite-wal"));
    await page.locator('input[aria-label="folder to open"]').setInputFiles(folder);
    const agents = page.locator(".store-agent");
    await agents.nth(2).waitFor();
    assert.equal(await agents.count(), 3);
    await page.locator('[data-state="unknown"]').waitFor({ state: "detached" });
    // Its process died a moment ago, so nothing of it is overdue yet.
    await page.locator('[data-state="waits"] [data-agent="heart"]').click();
    await opened(page, "heart in backup");
    assert.equal(await page.locator(".documents ul [data-document]").innerText(), "heart");
    // Until they have been looked at again, a worker is at it, which a reload would break off.
    const again = page.locator('[data-state="waits"] [data-agent="heart"]');
    await page.goBack();
    await again.waitFor();
    await page.reload();
    await again.waitFor();
  }));

test("a data folder of the other runtime shows when things were recorded", async (context) => {
  const folder = join(HOLON, "02-work-item");
  if (!existsSync(folder)) {
    context.skip(`the recorded data folders are not in ${HOLON}`);
    return;
  }
  await onPage(async (page) => {
    await page.locator('input[aria-label="folder to open"]').setInputFiles(folder);
    await opened(page, "02-work-item");
    await page.getByLabel("As recorded").waitFor();
    assert.ok(await page.getByLabel("As recorded").isChecked());
    await page.locator(".pane-entries .pane-body").evaluate((body) => body.scrollTo(0, 0));
    const times = async () => page.locator(".entry-row .entry-at").allInnerTexts();
    await page.waitForFunction(
      () => document.querySelectorAll(".entry-row .entry-summary:not(:empty)").length > 10,
    );
    const shown = (await times()).filter((time) => time !== "00:00:00");
    assert.ok(new Set(shown).size > 0, "they have their own times");
    const seqs = (await page.locator(".entry-row .entry-seq").allInnerTexts()).map(Number);
    assert.notDeepEqual(
      seqs,
      seqs.toSorted((left, right) => left - right),
      "in the order of their own times",
    );
    await page.getByLabel("search entries").fill("carried");
    await page
      .locator(".entry-summary", { hasText: /^carried: \w+, not read · / })
      .first()
      .waitFor();
  });
});
