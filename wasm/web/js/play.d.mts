// The types of play.mjs.
import type * as wakeful from "./wakeful_web.js";

/**
 * The trace of a case, as JSON text. `look` is called after each step with the state and the new
 * lines.
 */
export function trace(
  guest: typeof wakeful,
  job: { case: string; story: string } | { case: string; files: Record<string, string> },
  look?: (scheduler: wakeful.Scheduler, lines: string[]) => void,
): string;
