// The workbench as people use it: cases and their badge, the cursor, the panes, files from outside.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import {
  axe,
  choose,
  goTo,
  newPage,
  opened,
  openFile,
  openWorkbench,
  overflow,
  shoot,
  visit,
} from "./page.mjs";

const bundle = JSON.parse(await readFile(new URL("../dist/bundle.json", import.meta.url), "utf8"));
const heartbeat = bundle.cases
  .find((known) => known.case === "heartbeat")
  .trace.steps.flatMap((step) => step.entries);
let workbench;

before(async () => {
  workbench = await openWorkbench();
});
after(() => workbench?.close());

const onPage = (use, options) => visit(workbench, use, options);

const text = (page, selector) => page.locator(selector).innerText();
const cursor = (page) => text(page, ".cursor-count");

test("every case is played in the browser and its head equals the native one", () =>
  onPage(async (page) => {
    assert.ok(bundle.cases.length > 1, "the bundle has cases");
    for (const { case: name, kind, trace } of bundle.cases) {
      await choose(page, name);
      const badge = page.locator(".badge");
      assert.equal(
        await badge.getAttribute("data-verdict"),
        "equal",
        `${name}: ${await badge.innerText()}`,
      );
      const chain = trace.steps.at(-1).explanation.head.chain;
      assert.equal(await badge.locator("code").innerText(), chain.slice(0, 8), name);
      assert.equal((await text(page, ".kind")).toLowerCase(), kind);
      assert.equal(
        await page.locator(".rule[data-outcome=fired]").count(),
        1,
        `${name}: one rule fires`,
      );
    }
  }));

test("at the boundaries of the trace, the page explains as the native core did", () =>
  onPage(async (page) => {
    for (const { case: name, trace } of bundle.cases.slice(0, 12)) {
      await choose(page, name);
      await page.getByLabel("Boundary").selectOption("run_loop_idle");
      const told = trace.steps.at(-1).explanation;
      await page.locator(".decision .strong", { hasText: told.decision.decision }).waitFor();
      assert.equal(
        await text(page, ".rule[data-outcome=fired] .rule-id"),
        told.decision.rule,
        name,
      );
      // What is shown is shorter: instants in seconds, and long ids without their middle.
      assert.equal(await page.locator(".sentence").getAttribute("title"), told.sentence, name);
    }
  }));

test("the heartbeat is walked with the keys, and every pane follows", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    const count = heartbeat.length;
    assert.equal(await cursor(page), `#${count} of ${count}`);
    await page.keyboard.press("Home");
    assert.equal(await cursor(page), `#1 of ${count}`);
    await page.keyboard.press("ArrowLeft");
    assert.equal(await cursor(page), `#1 of ${count}`, "there is nothing before the first entry");
    for (const { seq } of heartbeat.slice(0, 20)) {
      await page
        .locator(".pane-state .pane-head", { hasText: new RegExp(`^head #${seq}$`) })
        .waitFor();
      assert.equal(await cursor(page), `#${seq} of ${count}`);
      assert.match(await text(page, ".detail h2"), new RegExp(`^#${seq} `));
      await page.keyboard.press("ArrowRight");
    }
    await page.keyboard.press("End");
    // The address follows when the cursor rests.
    await page.waitForURL(new RegExp(`#heartbeat/${count}$`));
  }));

test("a ledger that is opened again while it is asked about answers still", () =>
  onPage(async (page) => {
    const lines = heartbeat.map((entry) => `${JSON.stringify(entry)}\n`).join("");
    await openFile(page, "again.jsonl", lines);
    await opened(page, "again.jsonl");
    for (let seq = 2; seq <= 12; seq += 1) {
      const before = await page.locator(".badge").elementHandle();
      await openFile(page, "again.jsonl", lines);
      // Ask at each moment of the opening, so that one question is open when its document is
      // replaced.
      for (
        let asked = 0;
        asked < 60 && (await before.evaluate((badge) => badge.isConnected));
        asked += 1
      ) {
        await page.keyboard.press(asked % 2 === 0 ? "Home" : "End");
      }
      await goTo(page, "again.jsonl", seq);
      await page
        .locator(".pane-state .pane-head", { hasText: new RegExp(`^head #${seq}$`) })
        .waitFor({ timeout: 5_000 });
    }
  }));

test("a link is followed although the page writes its address before it hears of the link", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    for (const link of ["heartbeat/3", "release/5"]) {
      await page.evaluate((to) => {
        const own = location.hash;
        location.hash = to;
        history.replaceState(null, "", own);
      }, link);
      const [name, seq] = link.split("/");
      await opened(page, name);
      await page.locator(".cursor-count strong", { hasText: new RegExp(`^#${seq}$`) }).waitFor();
      await page.waitForURL(({ hash }) => hash === `#${link}`);
    }
  }));

test("a case that is chosen once more stays as it is", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    await page.keyboard.press("Home");
    const before = await page.locator(".badge").elementHandle();
    await choose(page, "heartbeat");
    assert.ok(await before.evaluate((badge) => badge.isConnected), "it was opened again");
    assert.match(await cursor(page), /^#1 of/);
  }));

test("shift and an arrow go to the next change of the decision", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    await page.waitForFunction(() => document.querySelector(".timeline-note") === null);
    /** Goes there. Returns the entry once the panes show it. */
    const back = async (from) => {
      await page.keyboard.press("Shift+ArrowLeft");
      await page.waitForFunction(
        (was) => !document.querySelector(".cursor-count").innerText.startsWith(was),
        `#${from} `,
      );
      const to = Number((await cursor(page)).match(/^#(\d+)/)[1]);
      await page
        .locator(".pane-state .pane-head", { hasText: new RegExp(`^head #${to}$`) })
        .waitFor();
      assert.ok(to < from);
      return to;
    };
    // The first one goes to the entry from which the last decision holds.
    let at = await back(heartbeat.length);
    for (let change = 0; change < 5; change += 1) {
      const decision = await text(page, ".decision-facts");
      at = await back(at);
      assert.notEqual(await text(page, ".decision-facts"), decision, `at #${at}`);
    }
  }));

test("an address leads back to its case and entry", () =>
  onPage(
    async (page) => {
      await opened(page, "heartbeat");
      assert.equal(await cursor(page), `#7 of ${heartbeat.length}`);
      await goTo(page, "heartbeat", 3);
      const other = bundle.cases.find((known) => known.kind === "fixture").case;
      await page.evaluate((to) => void (location.hash = to), `#${other}`);
      await opened(page, other);
    },
    { path: "#heartbeat/7" },
  ));

test("evidence and spent keys lead to their entries", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    const link = page.locator(".chip-because .seq-link").first();
    const seq = await link.innerText();
    await link.click();
    await page.locator(".detail h2", { hasText: new RegExp(`^${seq} `) }).waitFor();
    assert.equal(
      await text(page, ".entry-row[aria-selected=true] .entry-seq"),
      seq.slice(1),
      "the list scrolls to it",
    );
    const steps = bundle.cases.find((known) => known.case === "heartbeat").trace.steps;
    const suppressed = steps.find((step) =>
      step.explanation.rules.some((rule) => rule.outcome === "suppressed"),
    ).explanation;
    await goTo(page, "heartbeat", suppressed.head.seq);
    await page.getByLabel("Boundary").selectOption("run_loop_idle");
    const [{ key, spent_by }] = suppressed.rules.find((rule) => rule.outcome === "suppressed").keys;
    const shown = page.locator(".rule[data-outcome=suppressed]").first();
    await shown.getByText(key).waitFor();
    await shown.getByRole("button").first().click();
    await page.locator(".detail h2", { hasText: new RegExp(`^#${spent_by} `) }).waitFor();
  }));

test("another edition or policy is supposed, marked as supposed, and reset", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    const rules = () => page.locator(".rule-id").allInnerTexts();
    const recorded = await rules();
    await page.locator(".pane-ladder").getByLabel("Edition").selectOption("2026-05-08");
    await page.waitForFunction(
      (first) =>
        [...document.querySelectorAll(".rule-id")].map((rule) => rule.innerText).join() !== first,
      recorded.join(),
    );
    assert.equal(await page.locator(".suppose[data-supposed=true]").count(), 1);
    await page.getByRole("button", { name: "As recorded" }).click();
    await page.waitForFunction(
      (first) =>
        [...document.querySelectorAll(".rule-id")].map((rule) => rule.innerText).join() === first,
      recorded.join(),
    );
    await page.getByRole("spinbutton").fill("7");
    await page.locator(".suppose[data-supposed=true]").waitFor();
    await page.getByRole("spinbutton").fill("-1");
    await page.getByRole("alert").getByText("This entry cannot be looked at").waitFor();
    await page.getByRole("button", { name: "As recorded" }).click();
    await page.getByRole("alert").waitFor({ state: "detached" });
    const policy = page.locator(".suppose label", { hasText: "Policy" }).locator("select");
    await policy.selectOption("terminal_reentry");
    await page.getByLabel("policy: task results that re-enter the model").selectOption("awaited");
    await page.locator(".suppose[data-supposed=true]").waitFor();
    // A value that the core refuses is said after it was asked.
    await page.waitForTimeout(500);
    assert.equal(await page.getByRole("alert").count(), 0);
  }));

test("the diff shows the changes of an entry, and those since the mark", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    await page.getByRole("tab", { name: "Diff" }).click();
    await page.locator(".diff li").first().waitFor();
    const one = await page.locator(".diff li").count();
    await page.keyboard.press("Escape");
    await page.locator(".cursor").getByRole("button", { name: "Mark" }).click();
    await page.locator(".sentence").click();
    await page.keyboard.press("Home");
    await page.getByText(`from #1 to #${heartbeat.length}`).waitFor();
    await page.waitForFunction((few) => document.querySelectorAll(".diff li").length > few, one);
    await page.getByLabel("Compare with edition").selectOption("2026-05-08");
    await page.locator(".editions [role=status]").waitFor();
  }));

test("the entries are searched", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    await page.keyboard.press("f");
    await page.keyboard.type("timers");
    await page.getByText(/^\d+ of \d+$/).waitFor();
    // The list follows the typing a moment later. Until then it shows the result for the first
    // letters.
    await page.waitForFunction(() => {
      const rows = [...document.querySelectorAll(".entry-row")];
      return rows.length > 0 && rows.every((row) => row.textContent.includes("timers"));
    });
  }));

test("the list is searched and walked by keyboard alone", () =>
  onPage(async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("wake hint");
    const found = page.locator("button.case");
    // The list follows the typing a moment later; the arrow moves in the old list.
    await page.waitForFunction(() => {
      const shown = [...document.querySelectorAll("button.case")];
      const says = (line, word) =>
        `${line.dataset.case} ${line.title}`.toLowerCase().includes(word);
      return (
        shown.length > 0 &&
        shown.every((line) => ["wake", "hint"].every((word) => says(line, word)))
      );
    });
    await page.keyboard.press("ArrowDown");
    await opened(page, await found.first().getAttribute("data-case"));
    await page.locator("input[type=search]").first().fill("no such case anywhere");
    await page.getByText("No case matches.").waitFor();
  }));

test("the keys are listed, and Escape closes the list", () =>
  onPage(async (page) => {
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }));

test("light and dark follow the system until the user chooses, and the choice is kept", () =>
  onPage(
    async (page) => {
      const ground = () =>
        page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      const dark = await ground();
      await page.getByRole("button", { name: "Dark theme" }).click();
      const light = await ground();
      assert.notEqual(light, dark);
      await page.reload();
      await page.waitForSelector(".badge");
      assert.equal(await ground(), light);
    },
    { colorScheme: "dark" },
  ));

test("nothing moves while the cursor goes through the heartbeat", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    const place = () =>
      page.evaluate(() =>
        [".decision", ".cursor", ".timeline", ".panes", ".pane-state", ".detail"].map((of) =>
          JSON.stringify(document.querySelector(of).getBoundingClientRect()),
        ),
      );
    const settled = await place();
    for (let step = 0; step < 12; step += 1) {
      await page.keyboard.press("ArrowLeft");
      assert.deepEqual(await place(), settled);
    }
    // Another document, also one without anything wrong, has the same frame.
    await choose(page, "asleep_agent_stays_idle");
    assert.deepEqual(await place(), settled);
  }));

/** Whether a bar is drawn in the lane of messages, at this share of the timeline's width. */
const messageAt = (page, share) =>
  page.evaluate((share) => {
    const canvas = document.querySelector(".timeline canvas");
    const ratio = canvas.width / canvas.clientWidth;
    const [red, , blue] = canvas
      .getContext("2d")
      .getImageData(Math.round(canvas.width * share), Math.round(9 * ratio), 1, 1).data;
    return blue - red > 40;
  }, share);

test("what a fork adds is drawn in the timeline, each time", () =>
  onPage(
    async (page) => {
      for (let fork = 0; fork < 10; fork += 1) {
        await choose(page, "baseline_over_budget_terminal");
        assert.equal(await messageAt(page, 0.85), false, "it has no message");
        await page.getByRole("tab", { name: "Why not" }).click();
        await page.getByLabel("Expected decision").selectOption("StartModelTurn");
        await page.getByRole("button", { name: "Try it in a fork, way 1" }).click();
        await page.locator(".kind-fork").waitFor();
        await page.locator(".decision .strong", { hasText: "StartModelTurn" }).waitFor();
        assert.equal(await messageAt(page, 0.85), true, "the message is drawn");
        await choose(page, "heartbeat");
      }
    },
    { colorScheme: "light" },
  ));

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
    assert.equal(
      await text(page, ".badge"),
      `✗ Differs from native at step ${at + 1}, entry ${entry.seq}`,
    );
    await shoot(page, "differs-light");
    await page.click(".badge");
    await page.locator(".detail h2", { hasText: new RegExp(`^#${entry.seq} `) }).waitFor();
    assert.deepEqual(troubles, []);
  } finally {
    await close();
  }
});

test("a bundle that cannot be read is reported", async () => {
  const { page, close } = await newPage(workbench.browser);
  try {
    await page.route("**/bundle.json", (route) => route.fulfill({ body: "{}" }));
    await page.goto(workbench.url);
    await page.getByRole("alert").waitFor();
    assert.match(await text(page, "[role=alert]"), /bundle\.json has no cases/);
  } finally {
    await close();
  }
});

test("a story is played when it opens, and reaches the native head", () =>
  onPage(async (page) => {
    const story = await readFile(
      new URL("../../tests/fixtures/stories/heartbeat.json", import.meta.url),
      "utf8",
    );
    await openFile(page, "mine.json", story);
    await opened(page, "mine.json");
    assert.equal(await text(page, ".kind"), "story");
    assert.equal(await text(page, ".badge"), `Verified, ${heartbeat.at(-1).chain.slice(0, 8)}`);
  }));

test("a ledger is pasted, dropped, and sent by another page", () =>
  onPage(async (page) => {
    const ledger = heartbeat.map((entry) => JSON.stringify(entry)).join("\n");
    await page.evaluate((pasted) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", pasted);
      window.dispatchEvent(
        new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
      );
    }, ledger);
    await opened(page, "pasted text");
    await page.evaluate(
      (sent) =>
        new Promise((done) => {
          window.addEventListener(
            "message",
            (event) =>
              event.data === "PONG" &&
              done(
                window.postMessage({ wakeful: { name: "sent", files: { "a.jsonl": sent } } }, "*"),
              ),
          );
          window.postMessage("PING", "*");
        }),
      ledger,
    );
    await opened(page, "sent");
    assert.equal(await cursor(page), `#${heartbeat.length} of ${heartbeat.length}`);
    const fixture = bundle.cases.find((known) => known.kind === "fixture");
    await page.evaluate(
      ({ name, files }) => window.postMessage({ wakeful: { name, files } }, "*"),
      { name: "a folder", files: fixture.files },
    );
    await opened(page, "a folder");
    assert.equal(await text(page, ".kind"), "fixture");
  }));

test("a link carries a small ledger, the cursor, the panel and the edition to another page, and survives a reload", () =>
  onPage(
    async (page) => {
      await choose(page, "heartbeat");
      await page.getByRole("button", { name: "Fork here" }).click();
      await page.locator(".kind-fork").waitFor();
      const badge = await text(page, ".badge");
      await page.keyboard.press("ArrowLeft");
      await page.getByRole("tab", { name: "Diff" }).click();
      await page.locator(".pane-ladder").getByLabel("Edition").selectOption("2026-05-08");
      await page.getByRole("button", { name: "Export" }).click();
      await page.getByRole("menuitem", { name: /Copy a link/ }).click();
      let link = "";
      // A promise is true at once for `waitForFunction`, so this asks until the link is there.
      for (let asked = 0; asked < 100 && !link.includes("#"); asked += 1) {
        await page.waitForTimeout(50);
        link = await page.evaluate(() => navigator.clipboard.readText());
      }
      const other = await page.context().newPage();
      await other.goto(link);
      for (const _ of ["opened", "reloaded"]) {
        await other.locator(".badge", { hasText: badge }).waitFor();
        await other
          .locator(".cursor-count strong", { hasText: `#${heartbeat.length - 1}` })
          .waitFor();
        await other.locator(".diff").waitFor();
        assert.equal(
          await other.locator(".pane-ladder").getByLabel("Edition").inputValue(),
          "2026-05-08",
        );
        await other.reload();
      }
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  ));

for (const colorScheme of ["light", "dark"]) {
  for (const [width, height] of [
    [1440, 900],
    [1280, 800],
  ]) {
    test(`screenshots ${colorScheme} ${width}`, () =>
      onPage(
        async (page) => {
          const name = (what) => `${what}-${colorScheme}-${width}`;
          await choose(page, "heartbeat");
          await page.waitForFunction(() => document.querySelector(".timeline-note") === null);
          await shoot(page, name("heartbeat-end"));
          await page.keyboard.press("Shift+ArrowLeft");
          await page.keyboard.press("Shift+ArrowLeft");
          await page.getByRole("tab", { name: "Diff" }).click();
          await page.getByRole("tab", { name: "Why not" }).click();
          await page.locator(".way").first().waitFor();
          await shoot(page, name("heartbeat-why-not"));
          await choose(page, bundle.cases.findLast((known) => known.kind === "fixture").case);
          await page.getByRole("tab", { name: "State" }).click();
          await page.getByText("Raw state").click();
          await page.getByRole("tree", { name: "raw state" }).scrollIntoViewIfNeeded();
          await shoot(page, name("fixture"));
          assert.equal(await overflow(page), 0);
        },
        { colorScheme, viewport: { width, height } },
      ));
  }
}

test("the wheel scrolls each panel to its end", () =>
  onPage(
    async (page) => {
      await choose(page, "heartbeat");
      await page.getByRole("tab", { name: "Live" }).click();
      await page.getByRole("button", { name: "Start an agent" }).click();
      await opened(page, "live agent");
      for (const [tab, body, last] of [
        ["Live", ".live-body", ".live-part:last-child"],
        ["State", ".pane-state .pane-body", ".raw"],
        ["Ladder", ".pane-ladder .pane-body", ".rule:last-child"],
      ]) {
        await page.getByRole("tab", { name: tab }).click();
        await page.locator(last).waitFor();
        const at = await page.locator(body).boundingBox();
        assert.ok(at.y + at.height <= 721, `${tab} ends within the window`);
        await page.mouse.move(at.x + 20, at.y + 20);
        // One event scrolls a limited way, however far it turns.
        for (let turn = 0; turn < 4; turn += 1) {
          await page.mouse.wheel(0, 2_500);
        }
        await page.waitForFunction(
          ([body, last]) =>
            document.querySelector(last).getBoundingClientRect().bottom <=
            document.querySelector(body).getBoundingClientRect().bottom + 1,
          [body, last],
        );
      }
    },
    { viewport: { width: 1280, height: 720 } },
  ));

test("in a narrow window nothing is cut off, and the page does not move", async () => {
  for (const [width, height] of [
    [1100, 800],
    [800, 900],
    [390, 844],
  ]) {
    await onPage(
      async (page) => {
        await choose(page, "release");
        await page.locator(".rule[data-outcome=fired]").waitFor();
        assert.equal(
          await page.evaluate(() => scrollY),
          0,
          "an opened ledger is shown from its top",
        );
        await shoot(page, `narrow-${width}`);
        await goTo(page, "release", 22);
        await page.locator(".decision .strong", { hasText: "WaitForTask" }).waitFor();
        await page.locator(".rule[data-outcome=fired]", { hasText: "8.task" }).waitFor();
        assert.equal(
          await page.evaluate(() => scrollY),
          0,
          "a rule that fires below the fold does not move the page",
        );
        for (const tab of ["Why not", "Diff", "Live", "State", "Ladder"]) {
          await page.getByRole("tab", { name: tab }).click();
          assert.equal(await overflow(page), 0, `${width} px, ${tab}`);
        }
        const rule = page.locator(".rule[data-outcome=fired]");
        await page.locator(".pane-ladder").scrollIntoViewIfNeeded();
        const [inside, pane] = [
          await rule.boundingBox(),
          await page.locator(".pane-ladder .pane-body").boundingBox(),
        ];
        assert.ok(
          inside.y >= pane.y && inside.y + inside.height <= pane.y + pane.height,
          "the rule that fired is in view in its pane",
        );
        assert.deepEqual(await axe(page), [], `${width} px`);
      },
      { viewport: { width, height } },
    );
  }
});
