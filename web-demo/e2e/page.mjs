// The built page in a real browser: serves dist on a free port and opens it. CHROME is the path of
// the browser.
import { mkdir } from "node:fs/promises";
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
  await page.click(`button[data-case="${name}"]`);
  await opened(page, name);
}

/** Waits until a document is open and its newest entry is shown. */
export async function opened(page, name) {
  await page.waitForSelector(`.badge[data-case="${name}"]`);
  await page.waitForSelector(".decision .strong");
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

/** The findings of axe-core about the current page, in words. */
export async function axe(page) {
  if (!(await page.evaluate(() => "axe" in window))) {
    await page.addScriptTag({ path: fileURLToPath(import.meta.resolve("axe-core")) });
  }
  const found = await page.evaluate(() => window.axe.run());
  return found.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`,
  );
}
