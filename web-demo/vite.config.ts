// The build of the workbench. The guest comes from the build folder, play.mjs from the web shell,
// and ledgers from the package's sources.
import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));

export default defineConfig({
  base: "./",
  plugins: [react()],
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
