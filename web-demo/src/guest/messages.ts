// What the page and the worker say to each other.
import type { CaseLine } from "../case/bundle.ts";
import type { Played } from "../case/trace.ts";

/** The page asks for a case; `ask` counts the questions, so that a late answer to an old one is known. */
export interface PlayCase {
  ask: number;
  case: string;
}

/** The worker answers. */
export type Answer =
  | { say: "ready"; cases: CaseLine[] }
  | { say: "broken"; message: string }
  | { say: "played"; ask: number; played: Played }
  | { say: "failed"; ask: number; message: string };
