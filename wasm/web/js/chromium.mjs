// The Chromium engine of the cross-check. It answers the same lines as engine.mjs in a page. CHROME
// is the path of the browser.
//
//   node chromium.mjs GUEST_FOLDER
//
// The page gets its files from this program through the driver. There is no server, and nothing
// leaves the machine.

import { existsSync } from "node:fs";
import { delimiter, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { main } from "./serve.mjs";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const TYPES = {
  html: "text/html",
  js: "text/javascript",
  mjs: "text/javascript",
  wasm: "application/wasm",
};

/** The origin of the page. This host does not exist. */
const ORIGIN = "http://engine.invalid/";

async function open(folder) {
  const { chromium } = await driver();
  const browser = await chromium.launch({
    executablePath: program(),
    // Chromium does not run its sandbox as root, and containers run as root.
    args: [
      "--disable-gpu",
      "--disable-dev-shm-usage",
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    ],
  });
  try {
    const page = await browser.newPage();
    await page.route(`${ORIGIN}**`, (route) =>
      serveFile(route, {
        guest: resolve(folder),
        tree: fileURLToPath(new URL("../../../", import.meta.url)),
      }),
    );
    await page.goto(ORIGIN);
    await page.evaluate(load, {
      guest: `${ORIGIN}guest/wakeful_web.js`,
      answer: `${ORIGIN}tree/wasm/web/js/answer.mjs`,
    });
    const answer = (line) => page.evaluate((line) => globalThis.answer(line), line);
    return { name: `chromium ${browser.version()}`, answer, close: () => browser.close() };
  } catch (error) {
    await browser.close();
    throw new Error(
      `cannot load the guest from ${folder} into a page: ${error.message}; build it with \`cargo xtask run\``,
    );
  }
}

/** In the page: loads the guest and the code that answers lines. */
async function load(from) {
  const guest = await import(from.guest);
  const { answer } = await import(from.answer);
  await guest.default({ module_or_path: new URL("wakeful_web_bg.wasm", from.guest) });
  globalThis.answer = (line) => JSON.stringify(answer(guest, line));
}

async function driver() {
  try {
    return await import("../../../web-demo/node_modules/playwright-core/index.mjs");
  } catch (error) {
    throw new Error(
      `the driver playwright-core is missing (${error.code}): run \`npm ci\` in web-demo`,
    );
  }
}

/** The browser: CHROME, else the first one on PATH. */
function program() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found =
    process.env.CHROME ||
    folders
      .flatMap((folder) => NAMES.map((name) => join(folder, name)))
      .find((file) => existsSync(file));
  if (!found || !existsSync(found)) {
    throw new Error(
      "there is no Chromium: install it (Debian: apt-get install chromium), or name it with CHROME",
    );
  }
  return found;
}

/** Answers a request of the page from a folder of this machine. */
async function serveFile(route, folders) {
  const path = decodeURIComponent(new URL(route.request().url()).pathname);
  if (path === "/") {
    return route.fulfill({ contentType: TYPES.html, body: "<!doctype html><title>engine</title>" });
  }
  const [, room, ...rest] = path.split("/");
  const folder = Object.hasOwn(folders, room) ? folders[room] : undefined;
  const file = folder === undefined ? undefined : join(folder, ...rest);
  // A path with `..` must not leave the folder.
  if (
    file === undefined ||
    !file.startsWith(folder.endsWith(sep) ? folder : folder + sep) ||
    !existsSync(file)
  ) {
    return route.fulfill({ status: 404 });
  }
  return route.fulfill({
    path: file,
    contentType: TYPES[file.split(".").at(-1)] ?? "application/octet-stream",
  });
}

await main(import.meta.url, open);
