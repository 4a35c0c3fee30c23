/**
 * The package with the small guest in its code, as text: for bundlers that leave files behind, for
 * bundled programs, and for workers that are built as one script. It is a third larger to download
 * than the file.
 *
 * @packageDocumentation
 */
import text from "./guest/core-text.js";
import { initSync } from "./guest/wakeful_web.js";
import { notLoaded } from "./loading.js";

try {
  initSync({ module: Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)) });
} catch (why) {
  throw notLoaded(why);
}

export * from "./api.js";
