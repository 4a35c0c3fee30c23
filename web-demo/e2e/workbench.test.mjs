// The workbench as somebody uses it: every case equal to native, the heartbeat step by step, entries, search, themes.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { choose, newPage, openWorkbench, shoot } from "./page.mjs";

const bundle = JSON.parse(await readFile(new URL("../dist/bundle.json", import.meta.url), "utf8"));
let workbench;

before(async () => {
  workbench = await openWorkbench();
});
after(() => workbench?.close());

/** Opens the page, runs a test on it, and holds it to a clean console. */
async function onPage(use, { path = "", ...options } = {}) {
  const { page, troubles, close } = await newPage(workbench.browser, options);
  try {
    await page.goto(`${workbench.url}${path}`);
    await page.waitForSelector(".badge");
    await use(page);
    assert.deepEqual(troubles, []);
  } finally {
    await close();
  }
}

const text = (page, selector) => page.locator(selector).innerText();

test("every case is played in the browser and its head equals the native one", () =>
  onPage(async (page) => {
    assert.ok(bundle.cases.length > 1, "the bundle has cases");
    for (const { case: name, kind, trace } of bundle.cases) {
      await choose(page, name);
      const badge = page.locator(".badge");
      assert.equal(await badge.getAttribute("data-verdict"), "equal", `${name}: ${await badge.innerText()}`);
      const chain = trace.steps.at(-1).explanation.head.chain;
      assert.equal(await badge.locator("code").innerText(), chain.slice(0, 8), name);
      assert.equal(await text(page, ".kind"), kind);
      assert.equal(await page.locator(".rule[data-outcome=fired]").count(), 1, `${name}: one rule fires`);
      assert.equal(await text(page, ".rule[data-outcome=fired] .rule-id"), trace.steps.at(-1).explanation.decision.rule);
      assert.equal(await page.locator(".step-outcome.failed").count(), 0, `${name}: ${await text(page, ".step-outcome")}`);
    }
  }));

test("the heartbeat is walked with the arrow keys, and every pane follows", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    const { steps } = bundle.cases.find((known) => known.case === "heartbeat").trace;
    assert.equal(await text(page, ".sentence"), "Asleep: waits for timer look-again; wakes at 09:20");
    for (let back = 1; back < steps.length; back += 1) {
      await page.keyboard.press("ArrowLeft");
    }
    assert.equal(await text(page, ".step-count"), `1/${steps.length}`);
    await page.keyboard.press("ArrowLeft");
    assert.equal(await text(page, ".step-count"), `1/${steps.length}`, "there is nothing before the first step");
    let entries = 0;
    for (const [index, step] of steps.entries()) {
      entries += step.entries.length;
      assert.equal(await text(page, ".step-count"), `${index + 1}/${steps.length}`);
      assert.equal(await text(page, ".decision .strong"), step.explanation.decision.decision);
      assert.equal(await text(page, ".pane-state .pane-head .note"), `head #${step.explanation.head.seq}`);
      assert.match(await text(page, ".pane-entries .pane-head .note"), new RegExp(`^${entries}, `));
      await page.keyboard.press("ArrowRight");
    }
    assert.match(page.url(), new RegExp(`#heartbeat/${steps.length}$`));
  }));

test("an address leads back to its case and step", () =>
  onPage(
    async (page) => {
      assert.equal(await text(page, ".step-count"), `3/${bundle.cases[0].trace.steps.length}`);
      assert.equal(await text(page, ".name"), bundle.cases[0].case);
      const follow = (hash) => page.evaluate((to) => void (location.hash = to), hash);
      await follow(`#${bundle.cases[0].case}/2`);
      await page.getByText(`2/${bundle.cases[0].trace.steps.length}`, { exact: true }).waitFor();
      await follow(`#${bundle.cases[1].case}`);
      await page.waitForSelector(`.badge[data-case="${bundle.cases[1].case}"]`);
    },
    { path: `#${bundle.cases[0].case}/3` },
  ));

test("an entry is selected in the list, by key, and from the evidence", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    await page.keyboard.press("Home");
    await page.locator(".entry-row").last().click();
    const newest = await text(page, ".detail h2");
    await page.locator(".entry-rows").focus();
    await page.keyboard.press("ArrowUp");
    assert.notEqual(await text(page, ".detail h2"), newest);
    await page.keyboard.press("Home");
    assert.equal(await text(page, ".detail h2"), "#1 control");
    assert.match(await text(page, ".detail .json"), /genesis/);
    const link = page.locator(".chip-because .seq-link").first();
    const seq = await link.innerText();
    await link.click();
    assert.match(await text(page, ".detail h2"), new RegExp(`^${seq} `));
    assert.equal(await text(page, ".entry-row[aria-selected=true] .entry-seq"), seq.slice(1), "the list scrolls to it");
    await page.getByText("Raw state").click();
    await page.getByRole("tree", { name: "raw state" }).waitFor();
  }));

const isSuppressed = (rule) => rule.outcome === "suppressed";
const heartbeat = bundle.cases.find((known) => known.case === "heartbeat").trace.steps;
const suppressedAt = heartbeat.findIndex((step) => step.explanation.rules.some(isSuppressed));

test("a suppressed rule names its key and leads to the entry that spent it", () =>
  onPage(
    async (page) => {
      const rule = heartbeat[suppressedAt].explanation.rules.find(isSuppressed);
      const [{ key, spent_by }] = rule.keys;
      const shown = page.locator(".rule[data-outcome=suppressed]");
      const words = await shown.innerText();
      assert.ok(words.includes(rule.rule) && words.includes(`${key} spent by #${spent_by}`), words);
      await shown.getByRole("button").click();
      assert.match(await text(page, ".detail h2"), new RegExp(`^#${spent_by} `));
    },
    { path: `#heartbeat/${suppressedAt + 1}` },
  ));

test("the list is searched and walked by keyboard alone", () =>
  onPage(async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("wake hint");
    const found = page.locator("button.case");
    // The list follows the typing a moment later; the arrow walks the list that stands.
    await page.waitForFunction(() => {
      const shown = [...document.querySelectorAll("button.case")];
      const says = (line, word) => `${line.dataset.case} ${line.title}`.toLowerCase().includes(word);
      return shown.length > 0 && shown.every((line) => ["wake", "hint"].every((word) => says(line, word)));
    });
    await page.keyboard.press("ArrowDown");
    const first = await found.first().getAttribute("data-case");
    await page.waitForSelector(`.badge[data-case="${first}"]`);
    await page.locator("input[type=search]").fill("no such case anywhere");
    await page.getByText("No case matches.").waitFor();
  }));

test("light and dark follow the system until somebody chooses, and the choice is kept", () =>
  onPage(
    async (page) => {
      const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      const dark = await ground();
      await page.getByRole("button", { name: "dark theme" }).click();
      const light = await ground();
      assert.notEqual(light, dark);
      await page.reload();
      await page.waitForSelector(".badge");
      assert.equal(await ground(), light);
    },
    { colorScheme: "dark" },
  ));

test("every control has a name", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("button, input, [role=listbox], [role=tree], section, nav")]
        .filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim()))
        .map((node) => node.outerHTML.slice(0, 120)),
    );
    assert.deepEqual(nameless, []);
  }));

test("nothing moves while the heartbeat is walked", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    const place = () =>
      page.evaluate(() =>
        [".decision", ".stepper", ".panes", ".pane-state", ".detail"].map((of) => JSON.stringify(document.querySelector(of).getBoundingClientRect())),
      );
    const settled = await place();
    for (let step = 0; step < 12; step += 1) {
      await page.keyboard.press("ArrowLeft");
      assert.deepEqual(await place(), settled);
    }
    await choose(page, bundle.cases.find((known) => known.kind === "fixture").case);
    assert.deepEqual(await place(), settled);
  }));

test("a difference from native is shown, and the badge leads to it", async () => {
  const { page, troubles, close } = await newPage(workbench.browser);
  try {
    const changed = structuredClone(bundle);
    const { steps } = changed.cases.find((known) => known.case === "heartbeat").trace;
    const at = steps.findIndex((step) => step.entries.length > 2);
    const entry = steps[at].entries[1];
    entry.chain = entry.chain.replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
    await page.route("**/bundle.json", (route) => route.fulfill({ json: changed }));
    await page.goto(workbench.url);
    await choose(page, "heartbeat");
    assert.equal(await text(page, ".badge"), `differs from native at step ${at + 1}, entry ${entry.seq}`);
    await shoot(page, "differs-light");
    await page.click(".badge");
    assert.equal(await text(page, ".step-count"), `${at + 1}/${steps.length}`);
    assert.match(await text(page, ".detail h2"), new RegExp(`^#${entry.seq} `));
    assert.deepEqual(troubles, []);
  } finally {
    await close();
  }
});

test("a bundle that cannot be read is said, not swallowed", async () => {
  const { page, close } = await newPage(workbench.browser);
  try {
    await page.route("**/bundle.json", (route) => route.fulfill({ body: "{}" }));
    await page.goto(workbench.url);
    await page.getByRole("alert").waitFor();
    assert.match(await text(page, "[role=alert]"), /bundle\.json has no `cases`/);
  } finally {
    await close();
  }
});

for (const colorScheme of ["light", "dark"]) {
  for (const [width, height] of [[1440, 900], [1280, 800]]) {
    test(`screenshots ${colorScheme} ${width}`, () =>
      onPage(
        async (page) => {
          const name = (what) => `${what}-${colorScheme}-${width}`;
          await choose(page, "heartbeat");
          await page.locator(".entry-row").last().click();
          await shoot(page, name("heartbeat-end"));
          for (let back = 0; back < 11; back += 1) {
            await page.keyboard.press("ArrowLeft");
          }
          await page.locator(".chip-because .seq-link").first().click();
          await shoot(page, name("heartbeat-tick"));
          await choose(page, bundle.cases.findLast((known) => known.kind === "fixture").case);
          await page.getByText("Raw state").click();
          await page.getByRole("tree", { name: "raw state" }).scrollIntoViewIfNeeded();
          await shoot(page, name("fixture"));
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(overflow <= 0, `the page is ${overflow} px wider than the window`);
        },
        { colorScheme, viewport: { width, height } },
      ));
  }
}
