// Access: the keyboard alone, the palette, the focus, and the settings of the system.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  axe,
  choose,
  focused,
  goTo,
  opened,
  openFile,
  openWorkbench,
  overflow,
  shoot,
  tabTo,
  visit,
  waitForFocus,
  withStanding,
} from "./page.mjs";

let workbench;

before(async () => {
  workbench = await openWorkbench();
});
after(() => workbench?.close());

const onPage = (use, options) => visit(workbench, use, options);

/** Runs a command from the palette. */
async function command(page, words) {
  await page.keyboard.press("Control+k");
  const dialog = page.getByRole("dialog", { name: "Commands" });
  await dialog.waitFor();
  await page.keyboard.type(words);
  await dialog.locator("[cmdk-item][data-selected=true]").first().waitFor();
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
}

test("by keyboard alone: from a case to a fork, its export, and back", () =>
  onPage(
    async (page) => {
      await command(page, "open baseline over budget terminal");
      await opened(page, "baseline_over_budget_terminal");
      await page.waitForFunction(() => document.activeElement?.className === "sentence");
      const count = () => page.locator(".cursor-count").innerText();
      const end = await count();
      await page.keyboard.press("ArrowLeft");
      assert.notEqual(await count(), end);
      await page.keyboard.press("m");
      await page.getByRole("button", { name: /^Mark/, pressed: true }).waitFor();
      await page.keyboard.press("ArrowLeft");
      await command(page, "show diff");
      await page.locator(".pane-diff .note", { hasText: /from #\d+ to #\d+/ }).waitFor();
      await page.keyboard.press("End");
      await command(page, "show why not");
      await page.locator(".pane-why-not").waitFor();
      await tabTo(page, "Expected decision");
      await page.keyboard.type("start a");
      const expected = page.getByLabel("Expected decision");
      if ((await expected.inputValue()) !== "StartModelTurn") {
        await expected.selectOption("StartModelTurn");
      }
      await tabTo(page, "Try it in a fork, way 1");
      await page.keyboard.press("Enter");
      await page.locator(".kind-fork").waitFor();
      await page.waitForFunction(() => document.activeElement?.className === "sentence");
      await tabTo(page, "Export", "Shift+Tab");
      await page.keyboard.press("Enter");
      await page.getByRole("menu").waitFor();
      const download = page.waitForEvent("download");
      await page.keyboard.press("Enter");
      assert.match((await download).suggestedFilename(), /\.zip$/);
      await page.getByRole("menu").waitFor({ state: "detached" });
      const dialog = page.getByRole("dialog", { name: "The test is saved" });
      await dialog.waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await waitForFocus(page, "Export");
      await command(page, "open heartbeat");
      await opened(page, "heartbeat");
      await command(page, "#7");
      await page.locator(".cursor-count strong", { hasText: /^#7$/ }).waitFor();
      await shoot(page, "access-keyboard");
    },
    { acceptDownloads: true },
  ));

test("the palette finds commands, entries and cases, and gives the focus back", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    await page.getByLabel("search entries").focus();
    await page.keyboard.press("Control+k");
    const dialog = page.getByRole("dialog", { name: "Commands" });
    await dialog.getByRole("option", { name: /Previous entry/ }).waitFor();
    await shoot(page, "palette");
    assert.deepEqual(await axe(page), []);
    await page.keyboard.type("heartbeat");
    await dialog.getByRole("option", { name: "Open heartbeat" }).first().waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await waitForFocus(page, "search entries");
    await command(page, "14");
    await page.locator(".cursor-count strong", { hasText: /^#14$/ }).waitFor();
    await command(page, "dark theme");
    await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
    await command(page, "search the entries");
    await waitForFocus(page, "search entries");
    await page.keyboard.type("?m 0");
    assert.equal(await page.getByLabel("search entries").inputValue(), "?m 0");
    assert.equal(await page.getByRole("dialog").count(), 0, "a field keeps its keys");
  }));

test("the help lists the keys of all commands that have some", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    await page.getByRole("button", { name: "previous entry" }).focus();
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog", { name: "Keys" });
    for (const name of [
      "Previous entry",
      "Next change of the decision",
      "Mark this entry for the diff",
      "Search the cases",
      "Search the entries",
      "Zoom in",
      "Find a command",
      "Show these keys",
    ]) {
      await dialog.getByText(name, { exact: true }).waitFor();
    }
    await shoot(page, "keys");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    const [at, of] = (await page.locator(".cursor-count").innerText()).match(/[\d,]+/g);
    assert.equal(at, of, "a dialog takes the keys");
    await waitForFocus(page, "previous entry");
  }));

test("the buttons at the beginning lead to the parts of the page", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    for (const [link, lands] of [
      ["Go to the sentence", (has) => has.className === "sentence"],
      ["Go to the panes", (has) => has.getAttribute("role") === "tab"],
      ["Go to the entries", (has) => has.getAttribute("role") === "listbox"],
    ]) {
      const before = page.url();
      await page.evaluate(() => document.activeElement.blur());
      await page.getByRole("button", { name: link }).focus();
      assert.ok(
        await page.getByRole("button", { name: link }).evaluate((has) => has.offsetTop >= 0),
        "it is visible",
      );
      await page.keyboard.press("Enter");
      assert.ok(await page.evaluate(`(${lands})(document.activeElement)`), link);
      assert.equal(page.url(), before, "the address stays");
    }
  }));

test("the focus stays near when what had it is gone, and with who types or walks", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    await openFile(page, "bad.jsonl", "{");
    await page.getByRole("button", { name: "Dismiss" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement !== document.body);
    await page.getByLabel("search cases").fill("wake hint");
    await page.waitForFunction(() => document.querySelectorAll("button.case").length < 20);
    await page.keyboard.press("ArrowDown");
    await page.locator(".badge").waitFor();
    await page.waitForFunction(() => document.activeElement?.matches("button.case"));
    const first = await focused(page);
    await page.waitForTimeout(300);
    assert.equal(await focused(page), first, "who walks the list stays in it");
    await page.getByLabel("search entries").focus();
    await page.evaluate(() => void (location.hash = "#release"));
    await opened(page, "release");
    await goTo(page, "release", 5);
    await page.getByRole("button", { name: "first entry" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement !== document.body);
    assert.notEqual(await focused(page), "", "a button that is disabled gives the focus away");
  }));

test("a live region says where the cursor rests, once", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    const said = page.locator("[data-announced]");
    await page.waitForFunction(() =>
      document.querySelector("[data-announced]").textContent.startsWith("Entry"),
    );
    await page.evaluate(() => {
      window.said = [];
      new MutationObserver(() =>
        window.said.push(document.querySelector("[data-announced]").textContent),
      ).observe(document.querySelector("[data-announced]"), {
        characterData: true,
        childList: true,
        subtree: true,
      });
    });
    for (let step = 0; step < 8; step += 1) {
      await page.keyboard.press("ArrowLeft");
    }
    const at = (await page.locator(".cursor-count strong").innerText()).slice(1);
    await page.waitForFunction(
      (entry) => document.querySelector("[data-announced]").textContent.startsWith(entry),
      `Entry ${at} of`,
    );
    assert.ok((await page.evaluate(() => window.said.length)) <= 2, "it does not chatter");
    assert.match(await said.innerText(), /\./);
  }));

const VIEWS = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["forced light", { forcedColors: "active", colorScheme: "light" }],
  ["forced dark", { forcedColors: "active", colorScheme: "dark" }],
  ["contrast", { contrast: "more", colorScheme: "light" }],
  ["phone", { colorScheme: "light", viewport: { width: 390, height: 844 } }],
  ["phone dark", { colorScheme: "dark", viewport: { width: 390, height: 844 } }],
  ["zoom 200", { colorScheme: "light", viewport: { width: 640, height: 400 } }],
  ["4k", { colorScheme: "light", viewport: { width: 3840, height: 2160 } }],
];

for (const [name, options] of VIEWS) {
  test(`nothing is cut off and axe finds nothing: ${name}`, () =>
    onPage(
      async (page) => {
        const file = `access-${name.replaceAll(" ", "-")}`;
        await choose(page, "heartbeat");
        await page.waitForFunction(() => document.querySelector(".timeline-note") === null);
        await shoot(page, file);
        const found = [];
        for (const tab of ["Ladder", "Why not", "Diff", "Odd", "Notes", "State", "Live"]) {
          await page.getByRole("tab", { name: tab }).click();
          await page.waitForTimeout(150);
          found.push(...(await axe(page)).map((violation) => `${tab}: ${violation}`));
          assert.equal(await overflow(page), 0, tab);
          await shoot(page, `${file}-${tab.toLowerCase().replaceAll(" ", "-")}`);
        }
        await withStanding(page);
        found.push(...(await axe(page)).map((violation) => `a live agent: ${violation}`));
        await shoot(page, `${file}-agent`);
        await page.keyboard.press("Control+k");
        await page.getByRole("dialog").waitFor();
        await page.waitForTimeout(100);
        await shoot(page, `${file}-palette`);
        found.push(...(await axe(page)).map((violation) => `palette: ${violation}`));
        assert.equal(await overflow(page), 0, "palette");
        await page.keyboard.press("Escape");
        await openFile(page, "bad.jsonl", "{");
        await page.locator(".alarm").waitFor();
        await page.keyboard.press("?");
        await page.getByRole("dialog").waitFor();
        await shoot(page, `${file}-keys`);
        found.push(...(await axe(page)).map((violation) => `alarm and keys: ${violation}`));
        assert.equal(await overflow(page), 0, "keys");
        assert.deepEqual([...new Set(found)], []);
      },
      { viewport: { width: 1440, height: 900 }, ...options },
    ));
}

test("with forced colours the timeline is drawn in the colours of the system", () =>
  onPage(
    async (page) => {
      await choose(page, "heartbeat");
      await page.waitForFunction(() => document.querySelector(".timeline-note") === null);
      const colours = () =>
        page.evaluate(() => {
          const canvas = document.querySelector(".timeline canvas");
          // The browser warns about reading the same canvas twice.
          const copy = new OffscreenCanvas(canvas.width, Math.floor(canvas.height / 2));
          const context = copy.getContext("2d");
          context.drawImage(canvas, 0, 0);
          const { data } = context.getImageData(0, 0, copy.width, copy.height);
          const seen = new Set();
          for (let at = 0; at < data.length; at += 4) {
            if (data[at + 3] === 255) {
              seen.add(`rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`);
            }
          }
          return [...seen];
        });
      // The page's own ground of a lane in the dark theme.
      const [own, canvas] = ["rgb(26, 29, 34)", "rgb(0, 0, 0)"];
      assert.ok((await colours()).includes(canvas));
      assert.ok(!(await colours()).includes(own));
      await page.emulateMedia({ forcedColors: "none", colorScheme: "dark" });
      await page.waitForTimeout(300);
      assert.ok((await colours()).includes(own), "and in its own colours without them");
    },
    { forcedColors: "active", colorScheme: "dark" },
  ));

test("the focus is visible on every control that Tab reaches", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    const without = new Set();
    for (let presses = 0; presses < 90; presses += 1) {
      await page.keyboard.press("Tab");
      const name = await page.evaluate(() => {
        const has = document.activeElement;
        if (has === null || has === document.body) {
          return null;
        }
        const { outlineStyle, outlineWidth } = getComputedStyle(has);
        return outlineStyle === "none" || outlineWidth === "0px"
          ? `${has.tagName} ${has.className} ${has.textContent?.slice(0, 30)}`
          : null;
      });
      if (name !== null) {
        without.add(name);
      }
    }
    assert.deepEqual([...without], []);
  }));
