// The built page in a real browser: serves dist on a free port and opens it. CHROME is the path of
// the browser. SLOW=6 makes the page six times as slow, which finds tests that do not wait.
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";
import { preview } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const screenshots = fileURLToPath(new URL("../../target/screenshots/", import.meta.url));

/** Starts the server and the browser; `close` ends both. */
export async function openWorkbench() {
  if (!process.env.CHROME) {
    throw new Error("set CHROME to the program of Chromium or Chrome, as `cargo xtask test` does");
  }
  await mkdir(screenshots, { recursive: true });
  const server = await preview({
    root,
    logLevel: "error",
    preview: { port: 0, host: "127.0.0.1" },
  });
  const browser = await chromium.launch({
    executablePath: process.env.CHROME,
    // Chromium does not run its sandbox as root, and containers run as root.
    args: [
      "--disable-gpu",
      "--disable-dev-shm-usage",
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    ],
  });
  const { port } = server.httpServer.address();
  return {
    url: `http://127.0.0.1:${port}/`,
    browser,
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
}

/** A page that collects its errors. */
export async function newPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  if (process.env.SLOW) {
    const rate = Number(process.env.SLOW);
    await (await context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate });
  }
  const troubles = [];
  page.on(
    "console",
    (message) =>
      ["error", "warning"].includes(message.type()) && troubles.push(`console: ${message.text()}`),
  );
  page.on("pageerror", (error) => troubles.push(`page: ${error.message}`));
  page.on("requestfailed", (request) =>
    troubles.push(`request: ${request.url()} ${request.failure()?.errorText}`),
  );
  page.on(
    "response",
    (response) =>
      response.status() >= 400 && troubles.push(`response: ${response.url()} ${response.status()}`),
  );
  return { page, troubles, close: () => context.close() };
}

/** Takes a screenshot into target/screenshots. */
export async function shoot(page, name) {
  await page.screenshot({ path: `${screenshots}${name}.png` });
}

/** Chooses a case and waits until it is open. */
export async function choose(page, name) {
  // Beside documents, the examples are folded away.
  const folded = page.locator(".case-group:not([open]) > summary");
  while ((await folded.count()) > 0) {
    await folded.first().click();
  }
  await page.click(`button[data-case="${name}"]`);
  await opened(page, name);
}

/** Waits until a document is open and its newest entry is shown. */
export async function opened(page, name) {
  await page.waitForSelector(`.badge[data-case="${name}"]`);
  await page.waitForSelector(".decision .strong");
}

const { cases } = JSON.parse(
  await readFile(new URL("../dist/bundle.json", import.meta.url), "utf8"),
);

/** The ledger of a bundled case, as a file. */
export function ledgerOf(name) {
  const { trace } = cases.find((known) => known.case === name);
  return trace.steps
    .flatMap(({ entries }) => entries)
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join("");
}

/** Opens a file of this computer. */
export async function openFile(page, name, text) {
  await page
    .locator('input[aria-label="file to open"]')
    .setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });
}

/** Goes to an entry through the address. */
export async function goTo(page, name, seq) {
  await page.evaluate((to) => void (location.hash = to), `#${encodeURIComponent(name)}/${seq}`);
  await page.locator(".cursor-count strong", { hasText: `#${seq.toLocaleString("en")}` }).waitFor();
}

/** The name of the focused element. */
export const focused = (page) =>
  page.evaluate(() => {
    const has = document.activeElement;
    return (
      has?.getAttribute("aria-label") ??
      has?.labels?.[0]?.textContent ??
      has?.textContent?.trim() ??
      ""
    );
  });

/** Waits until an element whose name begins so has the focus. Dialogs give it back a bit later. */
export const waitForFocus = (page, wanted) =>
  untilFocused(page, wanted, () => page.waitForTimeout(20));

/** Presses Tab until an element whose name begins so has the focus, also if it appears late. */
export const tabTo = (page, wanted, key = "Tab") =>
  untilFocused(page, wanted, () => page.keyboard.press(key));

async function untilFocused(page, wanted, meanwhile) {
  const until = Date.now() + 15_000;
  let has = await focused(page);
  while (!has.startsWith(wanted)) {
    assert.ok(Date.now() < until, `\`${has.slice(0, 80)}\` has the focus, not \`${wanted}\``);
    await meanwhile();
    has = await focused(page);
  }
}

/** The findings of axe-core about the current page, in words. */
export async function axe(page) {
  if (!(await page.evaluate(() => "axe" in window))) {
    await page.addScriptTag({ path: fileURLToPath(import.meta.resolve("axe-core")) });
  }
  // The size of targets is in WCAG 2.2, but axe asks for it only on demand.
  const found = await page.evaluate(() =>
    window.axe.run({ rules: { "target-size": { enabled: true } }, resultTypes: ["violations"] }),
  );
  return found.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`,
  );
}

/** Opens the page, runs a test on it, and checks that the console stays clean. */
export async function visit(workbench, use, { path = "", ...options } = {}) {
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

/** The number of pixels by which the page is wider than its window. */
export const overflow = (page) =>
  page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth));

/** Starts the live agent with two triggers and a budget that is used up. */
export async function withStanding(page) {
  await page.getByRole("tab", { name: "Live" }).click();
  await page.getByRole("button", { name: "Start an agent" }).click();
  await opened(page, "live agent");
  await page.getByLabel("Virtual").click();
  await page.getByLabel("id of the trigger").fill("build");
  await page.getByLabel("what is delivered to the trigger").fill("the nightly build");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("button", { name: "Revoke build" }).waitFor();
  await page.getByLabel("id of the trigger").fill("mail");
  await page.getByLabel("For one delivery").check();
  await page.getByLabel("Expires").selectOption("3600000");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("button", { name: "Revoke mail" }).waitFor();
  await page.getByLabel("Tokens of the day").fill("150");
  await page.getByLabel("Tokens in all").fill("1000000");
  await page.getByRole("button", { name: "Set", exact: true }).click();
  await page.getByText("The limits hold now.").waitFor();
  for (const text of ["look at the build", "and at the mail"]) {
    await page.getByLabel("message of the operator").fill(text);
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".entry-summary", { hasText: text }).waitFor();
    await page.getByRole("button", { name: /^To 20/ }).click();
  }
  await page.locator(".live .budgets").getByText("200 of 150").waitFor();
}

/**
 * The memory of the pages' processes in bytes, as Linux tells it; not a number on other systems.
 */
export async function resident(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const each = await Promise.all(
    processInfo
      .filter(({ type }) => type === "renderer")
      .map(({ id }) =>
        readFile(`/proc/${id}/status`, "utf8").then(
          (status) => Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024,
          () => Number.NaN,
        ),
      ),
  );
  return each.reduce((sum, bytes) => sum + bytes, 0);
}

/** The number in the middle. */
export const median = (numbers) =>
  numbers.toSorted((left, right) => left - right)[Math.floor(numbers.length / 2)];

/** The times from an arrow key to the next frame after the panes changed. */
export async function steps(page, count) {
  const took = [];
  for (let step = 0; step < count; step += 1) {
    took.push(
      await page.evaluate(
        () =>
          new Promise((done) => {
            const pane = document.querySelector(".pane-state .pane-head");
            const started = performance.now();
            const seen = new MutationObserver(() => {
              seen.disconnect();
              requestAnimationFrame(() => setTimeout(() => done(performance.now() - started)));
            });
            seen.observe(pane, { subtree: true, childList: true, characterData: true });
            document.body.dispatchEvent(
              new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }),
            );
          }),
      ),
    );
  }
  return took;
}
