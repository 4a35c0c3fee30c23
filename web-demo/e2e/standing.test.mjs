// Budgets and external triggers in the page: what is shown at each entry, and the forms of the live
// agent.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import {
  choose,
  goTo,
  opened,
  openWorkbench,
  overflow,
  shoot,
  visit,
  withStanding,
} from "./page.mjs";

const bundle = JSON.parse(await readFile(new URL("../dist/bundle.json", import.meta.url), "utf8"));
let workbench;

before(async () => {
  workbench = await openWorkbench();
});
after(() => workbench?.close());

const onPage = (use, options) => visit(workbench, use, options);

test("the state shows budgets and external triggers at each entry", () =>
  onPage(async (page) => {
    const entries = (name) =>
      bundle.cases.find((known) => known.case === name).trace.steps.flatMap((step) => step.entries);
    const first = (name, like) => entries(name).find(({ record }) => like(record)).seq;
    const state = page.locator(".pane-state");
    await page.getByRole("tab", { name: "State" }).click();

    await choose(page, "callback");
    const made = first("callback", (record) => record.external_trigger_id === "build");
    await goTo(page, "callback", made);
    const triggers = state.getByRole("list", { name: "external triggers" });
    await triggers.getByText("Deliveries").first().waitFor();
    await triggers.getByText("nobody").first().waitFor();
    const waits = first("callback", (record) => record.wake_sources !== undefined);
    await goTo(page, "callback", waits);
    await triggers.getByText("wait-1").waitFor();
    await goTo(page, "callback", entries("callback").length);
    await state.getByText("2 triggers have ended").waitFor();

    await choose(page, "budget");
    const exhausted = first("budget", ({ data }) => data?.kind === "budget_exhausted");
    await goTo(page, "budget", exhausted);
    const budgets = state.getByRole("list", { name: "budgets" });
    await budgets.getByText("1,050 of 1,000").waitFor();
    await budgets.getByText(/used up, until midnight UTC \(2026-05-28 00:00\)/).waitFor();
    const granted = first("budget", ({ control }) => control === "budget_granted");
    await goTo(page, "budget", granted);
    await budgets.getByText("1,050 of 1,500").waitFor();
    assert.equal(await budgets.getByText("used up").count(), 0);
    const ofItem = entries("budget").findLast(
      ({ record }) => record.data?.kind === "budget_exhausted",
    );
    await goTo(page, "budget", ofItem.seq);
    await budgets.getByText(/used up, until a grant or a higher limit/).waitFor();
  }));

test("an agent waits for a delivery from outside, and runs out of its budget", () =>
  onPage(async (page) => {
    await page.getByRole("tab", { name: "Live" }).click();
    await page.getByRole("button", { name: "Start an agent" }).click();
    await opened(page, "live agent");
    await page.getByLabel("Virtual").click();
    const live = page.locator(".live");
    const says = (text) => live.getByText(text).waitFor();
    const press = (name) => live.getByRole("button", { name, exact: true }).click();
    /** Sends this as the operator, and lets its turn end. */
    const tell = async (words) => {
      await page.getByLabel("message of the operator").fill(words);
      await press("Send");
      await page.locator(".entry-summary", { hasText: words }).waitFor();
      await live.getByRole("button", { name: /^To 20/ }).click();
    };

    await page.getByLabel("id of the trigger").fill("build");
    await press("Create");
    await press("Deliver build");
    const token = await page.getByLabel("token", { exact: true }).inputValue();
    assert.match(token, /^wkt_[0-9a-f]{64}$/);

    await page.getByLabel("Next turn").selectOption("wait_trigger");
    await page.getByRole("textbox", { name: "Text", exact: true }).fill("build");
    await tell("wait for the build");
    await live.locator(".trigger", { hasText: "/wait" }).waitFor();
    await page.getByLabel("Next turn").selectOption("say");
    await page.getByLabel("content of the delivery").fill("It is green.");
    await page.getByLabel("id of the delivery").fill("n1");
    const deliver = () =>
      page
        .getByRole("form", { name: "deliver from outside" })
        .getByRole("button", { name: "Deliver", exact: true })
        .click();
    await deliver();
    await says("The delivery is recorded.");
    await says(/1, the last at/);
    await says("nobody");
    await deliver();
    await live.locator(".live-refused", { hasText: "ignored: duplicate" }).waitFor();

    await press("Rotate build");
    await says("build has a new token; the old one counts no longer.");
    await deliver();
    await live.locator(".live-refused", { hasText: "no trigger has this token" }).waitFor();
    await press("Revoke build");
    await says("build has ended.");
    assert.equal(await live.locator(".live-triggers").count(), 0);

    await page.getByLabel("Tokens of the day").fill("many");
    await press("Set");
    await live.locator(".live-refused", { hasText: "tokens_per_day" }).waitFor();
    await page.getByLabel("Tokens of the day").fill("1");
    await press("Set");
    await says("The limits hold now.");
    await live.getByText(/used up, until midnight UTC/).waitFor();
    await page.getByLabel("More tokens").fill("1000");
    await press("Grant");
    await says("The grant counts now.");
    await live.getByText(/of 1,001/).waitFor();
    assert.equal(await live.getByText(/used up, until/).count(), 0);
    // What is left empty has no limit.
    await page.getByLabel("Tokens of the day").fill("");
    await press("Set");
    await live.locator(".budgets").waitFor({ state: "detached" });
    const ledger = await page.locator(".entry-summary").allInnerTexts();
    assert.ok(ledger.every((line) => !line.includes(token)));
  }));

for (const colorScheme of ["light", "dark"]) {
  for (const [width, height] of [
    [1440, 900],
    [1280, 800],
    [390, 844],
  ]) {
    test(`screenshots of budgets and triggers ${colorScheme} ${width}`, () =>
      onPage(
        async (page) => {
          await withStanding(page);
          const top = (part) => part.evaluate((element) => element.scrollIntoView());
          await top(page.getByRole("region", { name: "External triggers" }));
          await shoot(page, `triggers-${colorScheme}-${width}`);
          await top(page.getByRole("region", { name: "Budgets" }));
          await shoot(page, `budgets-${colorScheme}-${width}`);
          assert.equal(await overflow(page), 0);
          await page.getByRole("tab", { name: "State" }).click();
          await top(page.locator(".pane-state .budgets"));
          await shoot(page, `standing-${colorScheme}-${width}`);
          assert.equal(await overflow(page), 0);
        },
        { colorScheme, viewport: { width, height } },
      ));
  }
}
