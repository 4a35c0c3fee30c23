// The build of the workbench. The guest comes from the build folder, play.mjs from the web shell,
// and ledgers from the package's sources.
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

export default defineConfig({
  base: "./",
  plugins: [react(), weighs],
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
