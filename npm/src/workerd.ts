/** The package in workerd, which compiles wasm in advance and imports the module. */
import core from "../core.wasm";
import { initSync } from "./guest/wakeful_web.js";

initSync({ module: core });

export * from "./api.js";
