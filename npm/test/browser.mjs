// A real browser with the unpacked package and the pages of the tests. CHROME is the path of the
// browser.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";

import { chromium } from "playwright-core";

import { root } from "./package.mjs";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
};

/** Serves folders by the first part of the path: `{ package: url }` answers `/package/...`. */
async function serve(folders, headers) {
  const server = createServer(async ({ url }, response) => {
    const [, name, ...rest] = new URL(url, "http://host").pathname.split("/");
    const path = rest.join("/") || "index.html";
    try {
      const body = await readFile(new URL(path, folders[name]));
      response
        .writeHead(200, {
          ...headers,
          "content-type": TYPES[extname(path)] ?? "application/octet-stream",
        })
        .end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

/**
 * Starts the server and the browser. Pages of one call share their storage. `troubles` collects
 * their errors. Every answer has the headers.
 */
export async function openBrowser(folders = {}, headers = {}) {
  if (!process.env.CHROME) {
    throw new Error("set CHROME to the program of Chromium or Chrome, as `cargo xtask test` does");
  }
  const pages = new URL("pages/", import.meta.url);
  const server = await serve(
    { package: new URL("target/npm/package/", root), pages, ...folders },
    headers,
  );
  const browser = await chromium.launch({
    executablePath: process.env.CHROME,
    // Chromium does not run its sandbox as root, and containers run as root.
    args: [
      "--disable-gpu",
      "--disable-dev-shm-usage",
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    ],
  });
  const context = await browser.newContext();
  const troubles = [];
  return {
    troubles,
    /** The origin of the pages. */
    address: server.address,
    /** Opens a tab with this path. */
    async tab(path) {
      const page = await context.newPage();
      page.on(
        "console",
        (message) =>
          ["error", "warning"].includes(message.type()) &&
          troubles.push(`console: ${message.text()}`),
      );
      page.on("pageerror", (error) => troubles.push(`page: ${error.message}`));
      page.on(
        "response",
        (response) =>
          response.status() >= 400 &&
          troubles.push(`response: ${response.url()} ${response.status()}`),
      );
      await page.goto(`${server.address}/${path}`);
      return page;
    },
    async close() {
      await browser.close();
      await server.close();
    },
  };
}

/**
 * Calls `window.call` of a page. Returns its result, or an exception as `{ error: { name, code,
 * message } }`.
 */
export function call(page, ...args) {
  return page.evaluate((args) => window.call(...args), args);
}
