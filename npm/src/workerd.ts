/** The package in workerd, which compiles wasm ahead and gives the module. */
import core from "../core.wasm";
import { initSync } from "./guest/wakeful_web.js";

initSync({ module: core });

export * from "./api.js";
