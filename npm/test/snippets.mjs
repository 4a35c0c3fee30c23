// The fenced blocks of npm/README.md.
import { readFile } from "node:fs/promises";

import { root } from "./package.mjs";

const page = await readFile(new URL("npm/README.md", root), "utf8");

/** The fenced blocks by the text after their fence. */
export const blocks = Object.fromEntries(
  [...page.matchAll(/^```(.+)\n([^]*?)^```$/gm)].map(([, kind, text]) => [kind, text]),
);
