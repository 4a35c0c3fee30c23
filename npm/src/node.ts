/** The package in Node: the fast guest is read from its file when the module is loaded. */
import { readFileSync } from "node:fs";

import { initSync } from "./guest/wakeful_web.js";
import { notLoaded } from "./loading.js";

try {
  initSync({ module: readFileSync(new URL("../core-fast.wasm", import.meta.url)) });
} catch (why) {
  throw notLoaded(why);
}

export * from "./api.js";
