// What an import of one of the two modules is.
import type { WasmSource } from "./slim.js";

/**
 * What a bundler makes of the import of a module: its address, its bytes, or the module. `init` of
 * `@wakeful/scheduler/slim` takes each of them.
 */
declare const core: WasmSource;
export default core;
