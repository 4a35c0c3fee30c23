// The build of the workbench. The guest comes from the build folder, play.mjs from the web shell,
// and ledgers from the package's sources.
import { readdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

import { weighed, WORKBENCH } from "../npm/weigh.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Prints the size of the module, and fails the build if it became too large. */
const weighs: Plugin = {
  name: "weighs",
  apply: "build",
  async buildStart() {
    this.info(await weighed("the workbench", WORKBENCH));
  },
};

/**
 * Writes the list of all files of the build, so that the service worker keeps also those that the
 * page loads late: workers, forms and their schema.
 */
const listsFiles: Plugin = {
  name: "lists-files",
  apply: "build",
  enforce: "post",
  async closeBundle() {
    const dist = `${root}web-demo/dist/`;
    const entries = await readdir(dist, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) =>
        `${entry.parentPath}/${entry.name}`.replaceAll("\\", "/").split("/dist/").at(-1),
      )
      .map((path) => path?.replace(/^\/+/, ""))
      .filter((path) => path !== "files.json" && path !== "offline.js")
      .toSorted();
    await writeFile(`${dist}files.json`, JSON.stringify({ files }));
  },
};

export default defineConfig({
  base: "./",
  plugins: [react(), weighs, listsFiles],
  resolve: {
    alias: {
      "@guest": `${root}target/guest/web`,
      "@package": `${root}npm/src`,
      "@shell": `${root}wasm/web/js`,
    },
  },
  server: { fs: { allow: [root] } },
  worker: { format: "es" },
  build: { target: "es2023" },
});
