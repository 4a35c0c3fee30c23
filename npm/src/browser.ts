/**
 * The package in pages, workers and bundlers: the guest is fetched from beside this file when the
 * module is loaded.
 */
import init from "./guest/wakeful_web.js";

await init({ module_or_path: new URL("../core.wasm", import.meta.url) });

export * from "./api.js";
