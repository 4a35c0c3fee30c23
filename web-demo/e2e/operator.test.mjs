// What an operator does first: read what is wrong, act on it, go to what is odd, take notes, and
// find everything again after a reload.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { strFromU8, unzipSync } from "fflate";

import { choose, goTo, ledgerOf, openFile, opened, openWorkbench, visit } from "./page.mjs";

const bundle = JSON.parse(await readFile(new URL("../dist/bundle.json", import.meta.url), "utf8"));
let workbench;

before(async () => {
  workbench = await openWorkbench();
});
after(() => workbench?.close());

const onPage = (use, options) => visit(workbench, use, options);

const listed = (page, name) => page.locator(`[data-document="${name}"]`);
const sentence = (page) => page.locator(".sentence").innerText();

test("a wake that nobody took is overdue, and what to do about it is offered", () =>
  onPage(async (page) => {
    await openFile(page, "heartbeat.jsonl", ledgerOf("heartbeat"));
    await opened(page, "heartbeat.jsonl");
    const notice = page.locator(".notice").first();
    await notice.getByText(/^Overdue: a wake was due at 2026-05-27T09:20:00Z\./).waitFor();
    assert.match(await notice.innerText(), /Since 2026-05-27 09:10 UTC \(\d+ d/);
    assert.match(await sentence(page), /^As of #46: /, "it does not read as if it were to come");
    await goTo(page, "heartbeat.jsonl", 20);
    await page.locator(".pane-state .pane-head", { hasText: "head #20" }).waitFor();
    assert.equal(await page.locator(".notice").count(), 0, "at that time nothing was overdue");

    await page.keyboard.press("End");
    await notice.getByRole("button", { name: "Start its process" }).click();
    const dialog = page.getByRole("dialog", { name: "Start its process" });
    await dialog.getByText(/no process drives the agent\./).waitFor();
    await dialog.getByRole("button", { name: "Try it in a fork" }).click();
    await page.locator(".kind-fork").waitFor();
    assert.equal(await dialog.count(), 0);
    const fork = page.locator(".documents ul [data-document]");
    assert.equal(await fork.innerText(), "fork after #46");
    assert.equal(await fork.getAttribute("aria-current"), "true");
  }));

test("the example is about its own time, so nothing of it is overdue", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    await page.locator(".since").getByText("09:10").waitFor();
    assert.equal(await page.locator(".notice").count(), 0);
  }));

test("an agent that waits for its operator offers the answer", () =>
  onPage(async (page) => {
    const { case: name } = bundle.cases.find(
      ({ trace }) => trace?.steps.at(-1)?.explanation.decision.decision === "WaitForOperator",
    );
    await choose(page, name);
    await page.locator('.act[data-act="answer"]').click();
    const dialog = page.getByRole("dialog", { name: "Answer" });
    await dialog.getByText("The agent asks for your answer").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    // The focus returns to what opened the dialog.
    await page.waitForFunction(() => document.activeElement?.dataset.act === "answer");
  }));

/** An agent that asks in the report at the end of its turn, as one with a model does. */
const ASKS = `story = "publisher"
shows = "An agent that asks."
agent_id = "publisher"
starts_at = 2026-05-27T09:00:00Z

[[script]]
prompt = "Publish the post."

[[turns]]
moves = [
  { create = "post", objective = "Publish the post", plan = "needs_input" },
  { pick = "post" },
  { brief = "It is written. May I publish it now, or on Monday?" },
]
`;

test("the answer stands beside what the agent reported last", () =>
  onPage(async (page) => {
    await openFile(page, "publisher.toml", ASKS);
    await opened(page, "publisher.toml");
    await page.locator('.act[data-act="answer"]').click();
    const dialog = page.getByRole("dialog", { name: "Answer" });
    const report = dialog.getByLabel("its report");
    assert.equal(await report.innerText(), "It is written. May I publish it now, or on Monday?");
    const words = dialog.getByLabel("Your words");
    await words.fill("On Monday.");
    await dialog.getByRole("button", { name: "Try it in a fork" }).click();
    await page.locator(".kind-fork").waitFor();
    await page.locator(".entry-summary", { hasText: "On Monday." }).waitFor();
  }));

test("the list of a file says what an agent asks", async () => {
  const folder = await mkdtemp(join(tmpdir(), "wakeful-asks-"));
  try {
    const [story, file] = ["publisher.toml", "agents.sqlite"].map((name) => join(folder, name));
    await writeFile(story, ASKS);
    for (const agent of ["publisher", "other"]) {
      const args = ["run", "--ledger", file, "--agent", agent, "--story", story];
      execFileSync(process.env.WAKEFUL, [...args, "--virtual", "--until-rest"], { stdio: "pipe" });
    }
    await onPage(async (page) => {
      await page.locator('input[aria-label="file to open"]').setInputFiles(file);
      const row = page.locator(".store-row", { has: page.locator('[data-agent="publisher"]') });
      await row.getByText("May I publish it now, or on Monday?").waitFor();
      await page.setViewportSize({ width: 390, height: 844 });
      const [name, ledger] = await Promise.all(
        ["strong", ".note"].map((part) => row.locator(part).first().boundingBox()),
      );
      assert.ok(ledger.y >= name.y + name.height, "on a phone, nothing lies over the name");
      await row.getByRole("button", { name: "Answer: publisher" }).click();
      await page.getByRole("dialog", { name: "Answer" }).getByLabel("its report").waitFor();
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("what is odd is listed by the core, and each oddity leads to its entry", () =>
  onPage(async (page) => {
    await choose(page, "budget");
    await page.getByRole("tab", { name: /^Odd/ }).click();
    const spent = page.locator('[data-odd="budget_spent"]').first();
    await spent.click();
    const seq = Number(/#(\d+)/.exec(await spent.innerText())[1]);
    await page.locator(".cursor-count strong", { hasText: `#${seq}` }).waitFor();
    assert.equal(await spent.getAttribute("aria-current"), "true");
    await page.locator(".detail").getByText("budget_exhausted").waitFor();
    await page.goBack();
    await page.waitForFunction(
      (jumped) => !document.querySelector(".cursor-count").innerText.includes(jumped),
      `#${seq} `,
    );
  }));

test("documents, forks, the cursor and notes survive a reload", () =>
  onPage(async (page) => {
    await openFile(page, "a.jsonl", ledgerOf("heartbeat"));
    await opened(page, "a.jsonl");
    await openFile(page, "b.jsonl", ledgerOf("release"));
    await opened(page, "b.jsonl");
    await page.getByRole("button", { name: "Fork here" }).click();
    await page.locator(".kind-fork").waitFor();
    await listed(page, "a.jsonl").click();
    await opened(page, "a.jsonl");
    await goTo(page, "a.jsonl", 12);
    await page.getByRole("tab", { name: /^Notes/ }).click();
    await page.getByLabel("Note at #12").fill("here it began");
    await page.getByRole("button", { name: "Add note" }).click();
    await page.getByRole("list", { name: "notes" }).getByText("here it began").waitFor();
    const said = await sentence(page);
    // The place of the cursor is kept once it stands.
    await page.waitForTimeout(600);

    await page.reload();
    await opened(page, "a.jsonl");
    await page.locator(".cursor-count strong", { hasText: "#12" }).waitFor();
    await page.getByRole("list", { name: "notes" }).getByText("here it began").waitFor();
    assert.equal(await sentence(page), said);
    assert.equal(
      await page.locator(".documents ul [data-document]").innerText(),
      "fork after #" + ledgerOf("release").trim().split("\n").length,
    );

    // Without an address it is found in the list, with the cursor where it stood.
    await page.goto(workbench.url);
    await page.waitForSelector(".badge");
    await listed(page, "a.jsonl").click();
    await opened(page, "a.jsonl");
    await page.locator(".cursor-count strong", { hasText: "#12" }).waitFor();
  }));

test("notes go along with the exported ledger, and as text with the exported test", () =>
  onPage(
    async (page) => {
      await openFile(page, "a.jsonl", ledgerOf("heartbeat"));
      await opened(page, "a.jsonl");
      await goTo(page, "a.jsonl", 12);
      await page.getByRole("tab", { name: /^Notes/ }).click();
      await page.getByLabel("Note at #12").fill("here it began");
      await page.getByRole("button", { name: "Add note" }).click();
      await page.locator("#entry-12", { hasText: "✎" }).waitFor();
      const exported = async (name) => {
        await page.getByRole("button", { name: "Export" }).click();
        const download = page.waitForEvent("download");
        await page.getByRole("menuitem", { name }).click();
        return readFile(await (await download).path());
      };
      const test = unzipSync(new Uint8Array(await exported(/Test of what it decides now/)));
      const told = strFromU8(test["a-after-46/notes.md"]);
      assert.match(told, /^## Entry 12 \(\w+, 2026-05-27T09:\S+Z\): .*\n\nhere it began$/m);
      assert.ok("a-after-46/expected.json" in test && !("a-after-46/notes.json" in test));
      await page.keyboard.press("Escape");

      const buffer = await exported(/Ledger with the notes/);
      await page.getByRole("status").getByText("Saved a.zip").waitFor();
      await page
        .locator('input[aria-label="file to open"]')
        .setInputFiles({ name: "sent.zip", mimeType: "application/zip", buffer });
      await opened(page, "sent.zip");
      const note = page.getByRole("list", { name: "notes" }).getByText("here it began");
      await note.waitFor();
      await page
        .getByRole("list", { name: "notes" })
        .getByRole("button", { name: "entry 12", exact: true })
        .click();
      await page.locator(".cursor-count strong", { hasText: "#12" }).waitFor();
    },
    { acceptDownloads: true },
  ));

test("a newer copy of a ledger takes the place of the older one, and another ledger does not", () =>
  onPage(async (page) => {
    const lines = ledgerOf("heartbeat").split("\n");
    await openFile(page, "agent.jsonl", lines.slice(0, 20).join("\n") + "\n");
    await opened(page, "agent.jsonl");
    await page.locator(".cursor-count", { hasText: "of 20" }).waitFor();
    await openFile(page, "agent.jsonl", ledgerOf("heartbeat"));
    await page.locator(".cursor-count", { hasText: "of 46" }).waitFor();
    assert.equal(await page.locator("[data-document]").count(), 1);
    await openFile(page, "agent.jsonl", ledgerOf("release"));
    await opened(page, "agent.jsonl (2)");
    assert.equal(await page.locator("[data-document]").count(), 2);
  }));

test("a file that cannot be opened is not kept, and removing one opens its neighbour", () =>
  onPage(async (page) => {
    await openFile(page, "good.jsonl", ledgerOf("heartbeat"));
    await opened(page, "good.jsonl");
    await openFile(page, "bad.jsonl", '{"seq":1,"at":"2026-05-27T09:00:00Z"}\n');
    await page.getByRole("alert").waitFor();
    assert.equal(await listed(page, "bad.jsonl").count(), 0);
    await openFile(page, "other.jsonl", ledgerOf("release"));
    await opened(page, "other.jsonl");
    await page.getByRole("button", { name: "remove other.jsonl from this page" }).click();
    await opened(page, "good.jsonl");
    assert.equal(await listed(page, "other.jsonl").count(), 0);
  }));

test("Back and Forward go between documents", () =>
  onPage(async (page) => {
    await openFile(page, "a.jsonl", ledgerOf("heartbeat"));
    await opened(page, "a.jsonl");
    await openFile(page, "b.jsonl", ledgerOf("release"));
    await opened(page, "b.jsonl");
    // Moving with the keys makes no steps.
    for (let step = 0; step < 5; step += 1) {
      await page.keyboard.press("ArrowLeft");
    }
    await page.goBack();
    await opened(page, "a.jsonl");
    await page.goForward();
    await opened(page, "b.jsonl");
    await page.goBack();
    await opened(page, "a.jsonl");
    await page.goBack();
    await opened(page, "heartbeat");
  }));

test("a supposition looks like one everywhere, and one act ends it", () =>
  onPage(async (page) => {
    await choose(page, "heartbeat");
    await page.getByRole("combobox", { name: "Edition" }).first().selectOption("2026-05-08");
    const band = page.getByRole("status", { name: "supposition" });
    await band.getByText("edition 2026-05-08").waitFor();
    await page.locator('.sentence[data-supposed="true"]').waitFor();
    assert.match(await sentence(page), /^If so: /);
    await page.getByRole("tab", { name: "Why not" }).click();
    await band.getByRole("button", { name: "As recorded" }).click();
    await band.waitFor({ state: "detached" });
    await page.locator('.sentence[data-supposed="false"]').waitFor();
  }));
