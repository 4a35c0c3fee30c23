/**
 * The package without a way of its own to find the guest: call `init` or `initSync` once, then use
 * all else.
 *
 * @packageDocumentation
 */
import start, { initSync as startSync } from "./guest/wakeful_web.js";

/**
 * The compiled guest, or its bytes: what `@wakeful/scheduler/core.wasm` holds, or `core-fast.wasm`,
 * which is half as large again to download and does a step in two thirds of the time.
 */
export type WasmModule = WebAssembly.Module | ArrayBuffer | ArrayBufferView<ArrayBuffer>;

/** Where the guest comes from: itself, a response that brings it, or where it is fetched from. */
export type WasmSource = WasmModule | Response | URL | string;

/**
 * Starts the guest. A second call does nothing.
 *
 * @throws Where it cannot be fetched or compiled.
 */
export async function init(source: WasmSource | Promise<WasmSource>): Promise<void> {
  await start({ module_or_path: source });
}

/**
 * Starts the guest at once, for platforms that may compile synchronously. A second call does
 * nothing.
 *
 * @throws Where it cannot be compiled.
 */
export function initSync(module: WasmModule): void {
  startSync({ module });
}

export * from "./api.js";
