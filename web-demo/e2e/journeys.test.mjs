// Journeys through the workbench, each from a question to its answer, with its cost.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";

import { unzipSync } from "fflate";

import { largeLedger } from "./large.mjs";
import {
  choose,
  goTo,
  median,
  newPage,
  opened,
  openFile,
  openWorkbench,
  resident,
  shoot,
  steps,
  tabTo,
  visit,
} from "./page.mjs";

const LARGE = 100_000;
const bundle = JSON.parse(await readFile(new URL("../dist/bundle.json", import.meta.url), "utf8"));
let workbench;
let scratch;

before(async () => {
  if (!process.env.WAKEFUL) {
    throw new Error("set WAKEFUL to the program of the native host, as `cargo xtask test` does");
  }
  scratch = await mkdtemp(join(tmpdir(), "wakeful-journeys-"));
  workbench = await openWorkbench();
});
after(async () => {
  await workbench?.close();
  if (scratch !== undefined) {
    await rm(scratch, { recursive: true });
  }
});

const text = (page, selector) => page.locator(selector).innerText();
/** A journey in a fresh page, which must keep a clean console. */
const journey = (use) => visit(workbench, use);

test("from a stuck agent to its cause", () =>
  journey(async (page) => {
    const stuck = bundle.cases.find(
      ({ trace }) => trace.steps.at(-1).explanation.decision.decision === "WaitForTask",
    );
    assert.ok(stuck, "a case waits for a task");
    const ledger = stuck.trace.steps
      .flatMap((step) => step.entries)
      .map((entry) => `${JSON.stringify(entry)}\n`)
      .join("");
    await openFile(page, "stuck.jsonl", ledger);
    await opened(page, "stuck.jsonl");
    const sentence = await text(page, ".sentence");
    const [, task] =
      sentence.match(/result of task (\S+)\./) ?? assert.fail(`${sentence} names no task`);
    await page.locator(".chip-because .seq-link").first().click();
    await page.waitForFunction(
      (id) => document.querySelector(".detail .json")?.textContent?.includes(id),
      task,
    );
    await shoot(page, "journey-stuck");
  }));

test("a bad file says what and where, and what was open stays open", () =>
  journey(async (page) => {
    await choose(page, "heartbeat");
    const sentence = await text(page, ".sentence");
    const entries = bundle.cases
      .find((known) => known.case === "heartbeat")
      .trace.steps.flatMap((step) => step.entries);
    const lines = entries.map((entry) => JSON.stringify(entry));
    const alarm = page.getByRole("alert");
    for (const [name, file, says] of [
      [
        "changed.jsonl",
        lines.map((line, at) => (at === 0 ? line.replace("09:", "10:") : line)).join("\n"),
        /entry 1 breaks the chain/,
      ],
      ["empty.jsonl", "", /no entries/],
      ["picture.png", "\u0089PNG", /picture\.png cannot be opened here/],
      ["package.json", '{ "name": "x" }', /malformed story: unknown field name, .*line 1 column 3/],
    ]) {
      await openFile(page, name, file);
      await alarm.getByRole("heading", { name: `${name} cannot be opened` }).waitFor();
      assert.match(await alarm.innerText(), says, name);
      assert.equal(await text(page, ".sentence"), sentence, "what was open stays open");
    }
    const fixture = bundle.cases.find((known) => known.kind === "fixture");
    const [path] = Object.keys(fixture.files).filter(
      (file) => file.endsWith(".jsonl") && fixture.files[file].trim() !== "",
    );
    const files = { ...fixture.files, [path]: `{"id": 1}\n${fixture.files[path]}` };
    await page.evaluate(
      (sent) => window.postMessage({ wakeful: { name: "bad folder", files: sent } }, "*"),
      files,
    );
    await alarm.getByText("bad folder cannot be opened").waitFor();
    const said = await alarm.innerText();
    assert.ok(
      said.includes(`${path}:1:8: invalid type: integer 1, expected a string (field id)`),
      said,
    );
    assert.equal(
      await page.locator('.case[data-case="heartbeat"]').getAttribute("aria-current"),
      "true",
      "the list says what is open",
    );
    await shoot(page, "journey-bad-file");
    await page.getByRole("button", { name: "Dismiss" }).click();
    await alarm.waitFor({ state: "detached" });
  }));

test("a damaged ledger is open up to its first bad entry, and says which one", () =>
  journey(async (page) => {
    const entries = bundle.cases
      .find((known) => known.case === "heartbeat")
      .trace.steps.flatMap((step) => step.entries);
    const lines = entries.map((entry) => JSON.stringify(entry));
    for (const [name, file, good, says] of [
      [
        "torn.jsonl",
        `${lines.slice(0, 3).join("\n")}\n${lines[3].slice(0, 40)}`,
        3,
        /entry 4 cannot be read/,
      ],
      [
        "changed.jsonl",
        lines.map((line, at) => (at === 4 ? line.replace("09:", "10:") : line)).join("\n"),
        4,
        /entry 5 breaks the chain/,
      ],
      [
        "gap.jsonl",
        lines.filter((_, at) => at !== 4).join("\n"),
        4,
        /found entry 6, expected entry 5/,
      ],
      [
        "noise.jsonl",
        Buffer.concat([
          Buffer.from(`${lines.slice(0, 2).join("\n")}\n`),
          Buffer.from([255, 254, 10]),
          Buffer.from(lines.slice(2).join("\n")),
        ]),
        2,
        /utf-8/,
      ],
    ]) {
      await openFile(page, name, file);
      await opened(page, name);
      assert.equal(await text(page, ".cursor-count"), `#${good} of ${good}`);
      const alarm = await text(page, ".alarm");
      assert.match(alarm, new RegExp(`Entry ${good + 1} cannot be verified`));
      assert.match(alarm, says, name);
      await page.keyboard.press("Home");
      await page.locator(".detail h2", { hasText: "#1 control" }).waitFor();
    }
  }));

test("a file that is too large for a tab is refused, and the tab survives", () =>
  journey(async (page) => {
    const sentence = await text(page, ".sentence");
    const path = join(scratch, "huge.jsonl");
    await writeFile(path, "");
    await truncate(path, 1_001_000_000);
    await page.locator('input[aria-label="file to open"]').setInputFiles(path);
    await page
      .getByRole("alert")
      .getByText(/1,001 MB are more than a tab can hold/)
      .waitFor();
    assert.equal(await text(page, ".sentence"), sentence);
    await choose(page, bundle.cases.at(-1).case);
  }));

test(`time travel on ${LARGE} entries`, async () => {
  const lines = await largeLedger(LARGE);
  await journey(async (page) => {
    const name = "large.jsonl";
    const buffer = lines.map((line) => `${line}\n`).join("");
    // A buffer of this size is too large for one message of the browser's protocol, but a file is
    // not.
    const path = join(scratch, name);
    await writeFile(path, buffer);
    const openIt = () => page.locator('input[aria-label="file to open"]').setInputFiles(path);
    const [before, cancel] = [
      await text(page, ".sentence"),
      page.getByRole("button", { name: "Cancel", exact: true }),
    ];
    await openIt();
    await page.getByText(/verifying [\d,]+ of 100,\d+ entries/).waitFor();
    await cancel.click();
    await cancel.waitFor({ state: "detached" });
    assert.equal(await text(page, ".sentence"), before, "what was open stays open");
    const began = performance.now();
    await openIt();
    await cancel.waitFor();
    await opened(page, name);
    const took = performance.now() - began;
    await page.waitForFunction(() => document.querySelector(".timeline-note") === null, undefined, {
      timeout: 120_000,
    });
    const decided = performance.now() - began;
    await goTo(page, name, 50_000);
    await page
      .locator(".pane-state .pane-head", { hasText: "head #50000" })
      .waitFor({ timeout: 60_000 });
    const stepped = await steps(page, 40);
    await page.keyboard.press("+");
    await shoot(page, "journey-time-travel");
    const memory = Math.round((await resident(workbench.browser)) / 1e6);
    console.log(
      `${lines.length} entries, ${(buffer.length / 1e6).toFixed(1)} MB: open in ${Math.round(took)} ms, all decisions after ${Math.round(decided)} ms, a step ${median(stepped).toFixed(1)} ms (median of ${stepped.length}), ${memory} MB resident in page and worker`,
    );
    assert.ok(median(stepped) < 50, `a step takes ${median(stepped)} ms`);
    // The goal is 3 s; a busy machine may need more.
    assert.ok(took < 6_000, `opening takes ${took} ms`);
  });
});

test("from why not, to a fork, to a fixture that the native core replays", () =>
  journey(async (page) => {
    const asleep = bundle.cases.find(
      ({ trace }) => trace.steps.at(-1).explanation.decision.decision === "Sleep",
    );
    await choose(page, asleep.case);
    await page.getByRole("tab", { name: "Why not" }).click();
    await page.getByLabel("Expected decision").selectOption("StartModelTurn");
    await page.getByRole("button", { name: "Try it in a fork, way 1" }).click();
    await page.locator(".kind-fork").waitFor();
    await page.locator(".decision .strong", { hasText: "StartModelTurn" }).waitFor();
    const head = await text(page, ".badge");
    await shoot(page, "journey-fork");
    await page.getByRole("button", { name: "Export" }).click();
    const download = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: /Test of what it decide(s now|d after)/ }).click();
    const archive = unzipSync(new Uint8Array(await readFile(await (await download).path())));
    const dialog = page.getByRole("dialog", { name: "The test is saved" });
    await dialog.getByText("expects the decision StartModelTurn").waitFor();
    const command = await dialog.locator(".command").innerText();
    const [, folder] = /^unzip \S+\.zip && wakeful replay (\S+)$/.exec(command) ?? [];
    assert.ok(folder, command);
    await dialog.getByRole("button", { name: "Close" }).click();
    for (const [path, bytes] of Object.entries(archive)) {
      await mkdir(dirname(join(scratch, path)), { recursive: true });
      await writeFile(join(scratch, path), bytes);
    }
    assert.ok(`${folder}/expected.json` in archive);
    // The command of the page, without the unpacking.
    const options = { stdio: "pipe", cwd: scratch };
    execFileSync(process.env.WAKEFUL, ["replay", folder], options);
    await page.getByRole("button", { name: "Export" }).click();
    const second = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: /Ledger/ }).click();
    const ledger = await readFile(await (await second).path(), "utf8");
    await openFile(page, "again.jsonl", ledger);
    await opened(page, "again.jsonl");
    assert.equal(await text(page, ".badge"), head, "export and import keep the head");
  }));

test("an agent runs in the page, crashes, and continues after a reload", () =>
  journey(async (page) => {
    await page.getByRole("tab", { name: "Live" }).click();
    await page.getByRole("button", { name: "Start an agent" }).click();
    await opened(page, "live agent");
    await page.getByLabel("Virtual").click();
    await page.getByLabel("message of the operator").fill("look at the build");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText(/ends 20/).waitFor();
    await page.locator(".entry-summary", { hasText: "look at the build" }).waitFor();
    const entries = async () => Number((await text(page, ".cursor-count")).match(/of ([\d,]+)/)[1]);
    await page.waitForFunction(() =>
      /Working: turn 1 on message/.test(document.querySelector(".sentence")?.textContent ?? ""),
    );
    const before = await entries();
    await page.getByRole("button", { name: "Crash now" }).click();
    await page.getByText("crashed", { exact: true }).waitFor();
    await shoot(page, "journey-live");
    await page.getByRole("button", { name: "Export" }).click();
    const download = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: /Scenario/ }).click();
    const scenario = join(scratch, "live.txt");
    await writeFile(scenario, await readFile(await (await download).path()));
    execFileSync(process.env.WAKEFUL, ["crosscheck", scenario, "--engines", "native,wasmtime"], {
      stdio: "pipe",
    });
    await page.reload();
    await page.getByRole("tab", { name: "Live" }).click();
    await page.getByText("running", { exact: true }).waitFor();
    await opened(page, "live agent");
    // The interrupted turn is replayed: its message starts another turn, which ends after its time.
    await page
      .getByRole("button", { name: /next wake|1 min/ })
      .first()
      .click();
    await page.waitForFunction(() =>
      /At rest/.test(document.querySelector(".sentence")?.textContent ?? ""),
    );
    assert.ok((await entries()) > before, "it continued in the same ledger");
    const processed = page.locator(".entry-summary", { hasText: /· processed/ });
    assert.equal(await processed.count(), 1, "its message was processed once");
  }));

test("by keyboard alone: a case, its past, another edition", () =>
  journey(async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("heartbeat");
    await page.waitForFunction(() => document.querySelectorAll("button.case").length === 1);
    await page.keyboard.press("ArrowDown");
    await opened(page, "heartbeat");
    await tabTo(page, "previous entry");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Shift+ArrowLeft");
    await tabTo(page, "Ladder");
    await page.keyboard.press("ArrowRight");
    await page.locator(".pane-why-not").waitFor();
    const outlined = await page.evaluate(
      () => getComputedStyle(document.activeElement).outlineStyle,
    );
    assert.equal(outlined, "solid", "the focus is visible");
    await tabTo(page, "Expected decision");
    await shoot(page, "journey-keyboard");
  }));

test("the first decision appears soon, and the page is small", async () => {
  const { page, close } = await newPage(workbench.browser);
  try {
    const began = performance.now();
    await page.goto(workbench.url);
    await page.waitForSelector(".rule[data-outcome=fired]");
    const took = performance.now() - began;
    const assets = new URL("../dist/assets/", import.meta.url);
    // The libraries for some files, such as SQLite's, are loaded when a person opens one.
    const loaded = await page.evaluate(() =>
      performance
        .getEntriesByType("resource")
        .map(({ name }) => name)
        .filter((name) => name.endsWith(".js"))
        .map((name) => name.split("/").at(-1)),
    );
    const workers = (await readdir(assets)).filter((name) => /^(live-)?worker-.*\.js$/.test(name));
    const scripts = [...new Set([...loaded, ...workers])];
    const sizes = await Promise.all(
      scripts.map(
        async (name) => gzipSync(await readFile(new URL(name, assets)), { level: 9 }).length,
      ),
    );
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    console.log(
      `first decision ${Math.round(took)} ms after navigation; ${scripts.length} scripts, ${(bytes / 1e3).toFixed(1)} kB gzipped beside the guest`,
    );
    assert.ok(bytes <= 250_000, `${bytes} bytes of JavaScript`);
    assert.ok(took < 1_500, `${took} ms`);
  } finally {
    await close();
  }
});

test("after it has loaded, the page works without a network", async () => {
  const { page, close } = await newPage(workbench.browser);
  try {
    await page.goto(workbench.url);
    await page.waitForFunction(() => document.documentElement.dataset.offline === "kept");
    await page.context().setOffline(true);
    await page.reload();
    await opened(page, "heartbeat");
    assert.equal(await page.locator(".badge").getAttribute("data-verdict"), "equal");
  } finally {
    await close();
  }
});
