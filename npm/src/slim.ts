/**
 * The package without loading the guest: call `init` or `initSync` once, then use everything else.
 *
 * @packageDocumentation
 */
import start, { initSync as startSync } from "./guest/wakeful_web.js";

/**
 * The compiled guest or its bytes: `@wakeful/scheduler/core.wasm`, or `core-fast.wasm`, which is
 * almost twice as large, takes two thirds of the time per step, and has every method. Without it
 * `whyNot`, the past and foreign folders throw an error with the code "not_in_module".
 */
export type WasmModule = WebAssembly.Module | ArrayBuffer | ArrayBufferView<ArrayBuffer>;

/** The source of the guest: the guest itself, a response with it, or its address. */
export type WasmSource = WasmModule | Response | URL | string;

/**
 * Starts the guest. A second call does nothing.
 *
 * @throws If it cannot be fetched or compiled.
 */
export async function init(source: WasmSource | Promise<WasmSource>): Promise<void> {
  await start({ module_or_path: source });
}

/**
 * Starts the guest synchronously, for platforms that allow this. A second call does nothing.
 *
 * @throws If it cannot be compiled.
 */
export function initSync(module: WasmModule): void {
  startSync({ module });
}

export * from "./api.js";
