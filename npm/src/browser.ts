/**
 * The package in pages, workers and bundlers: the guest is fetched from beside this file when the
 * module is loaded.
 */
import init from "./guest/wakeful_web.js";
import { notLoaded } from "./loading.js";

try {
  await init({ module_or_path: new URL("../core.wasm", import.meta.url) });
} catch (why) {
  throw notLoaded(why);
}

export * from "./api.js";
