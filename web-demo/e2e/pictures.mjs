// Takes the pictures of docs/workbench.md: `npm run pictures`, after the tests have built the page.
// CHROME is the path of the browser.
import { fileURLToPath } from "node:url";

import { largeLedger } from "./large.mjs";
import { choose, goTo, ledgerOf, newPage, opened, openWorkbench, withStanding } from "./page.mjs";

const folder = fileURLToPath(new URL("../../docs/workbench/", import.meta.url));
const SMALL = { width: 1280, height: 800 };
const LARGE = { width: 1440, height: 900 };

const { url, browser, close } = await openWorkbench();

/** One picture, of a fresh page. */
async function picture(name, viewport, colorScheme, show) {
  const { page, close: closePage } = await newPage(browser, { viewport, colorScheme });
  await page.goto(url);
  await opened(page, "heartbeat");
  await show(page);
  // The timeline is drawn a frame after its data arrives.
  await page.waitForTimeout(500);
  await page.screenshot({ path: `${folder}${name}.png` });
  await closePage();
}

async function whyNot(page) {
  await page.getByRole("tab", { name: "Why not" }).click();
  await page.getByLabel("Expected decision").selectOption("StartModelTurn");
  await page.getByRole("button", { name: "Try it in a fork, way 1" }).waitFor();
}

await picture("now", SMALL, "light", async () => {});
const lines = await largeLedger(100_000);
await picture("time-travel", LARGE, "light", async (page) => {
  await page.locator('input[aria-label="file to open"]').setInputFiles({
    name: "large.jsonl",
    mimeType: "application/json",
    buffer: Buffer.from(lines.join("\n")),
  });
  await opened(page, "large.jsonl");
  // The note says how far decisions are known, until all are.
  await page.locator(".timeline-note").waitFor({ state: "detached" });
  await goTo(page, "large.jsonl", Math.floor(lines.length / 2));
});
await picture("fixture", SMALL, "dark", async (page) => {
  await choose(page, "task_wait_of_current_item");
  await page.getByText("Raw state").click();
  await page.getByRole("tree", { name: "raw state" }).waitFor();
});
await picture("why-not", SMALL, "dark", async (page) => {
  await choose(page, "task_wait_of_current_item");
  await whyNot(page);
});
await picture("fork", LARGE, "light", async (page) => {
  await choose(page, "baseline_over_budget_terminal");
  await whyNot(page);
  await page.getByRole("button", { name: "Try it in a fork, way 1" }).click();
  await page.locator(".kind-fork").waitFor();
});
await picture("live", LARGE, "dark", async (page) => {
  await page.getByRole("tab", { name: "Live" }).click();
  await page.getByRole("button", { name: "Start an agent" }).click();
  await opened(page, "live agent");
  await page.getByLabel("Virtual").click();
  await page.getByLabel("message of the operator").fill("look at the build");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".entry-summary", { hasText: "look at the build" }).waitFor();
});
await picture("budget", LARGE, "light", async (page) => {
  await withStanding(page);
  await page.getByRole("tab", { name: "State" }).click();
  await page.locator(".pane-state .budgets").evaluate((budgets) => budgets.scrollIntoView());
});
await picture("overdue", SMALL, "light", async (page) => {
  const buffer = Buffer.from(ledgerOf("heartbeat"));
  await page
    .locator('input[aria-label="file to open"]')
    .setInputFiles({ name: "agent.jsonl", mimeType: "application/json", buffer });
  await opened(page, "agent.jsonl");
  await page.locator(".notice").waitFor();
});
await picture("store", SMALL, "dark", async (page) => {
  const files = ["heartbeat", "release", "budget", "callback"].map((name) => ({
    name: `${name}.jsonl`,
    mimeType: "application/json",
    buffer: Buffer.from(ledgerOf(name)),
  }));
  await page.locator('input[aria-label="file to open"]').setInputFiles(files);
  await page.locator('.store [data-state="unknown"]').waitFor({ state: "detached" });
});
await close();
