/** What goes wrong when a guest is loaded, as an error that names the line that mends it. */
import { WakefulError } from "./error.js";

/** The entry that needs no file beside the script. */
const INLINE = '`import { Scheduler } from "@wakeful/scheduler/inline"`';

/** The error of a guest that cannot be loaded from its file. */
export function notLoaded(why: unknown): WakefulError {
  const said = why instanceof Error ? why.message : String(why);
  return new WakefulError("not_loaded", `${said}; ${mend(said)}`, { cause: why });
}

/** What to do about it. Browsers word the refusal of a policy each in their way. */
function mend(said: string): string {
  return /unsafe-eval|content.security.policy|\bCSP\b/i.test(said)
    ? "the page's Content-Security-Policy must allow `script-src 'wasm-unsafe-eval'`"
    : `if a bundler left the module behind, load it as text: ${INLINE}`;
}
