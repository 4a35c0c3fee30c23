// The trace of a played case, parsed to compare it with the native one.
import type {
  Decision,
  Effect,
  ErrorReport,
  Explanation,
  Expected,
  Head,
} from "@package/payloads.js";

/** One stored entry. */
export interface Entry {
  seq: number;
  at: string;
  class: string;
  record: Record<string, unknown>;
  chain: string;
}

/** What the host did in a step. */
export type Command =
  | { do: "open" }
  | { do: "replay" }
  | { do: "propose"; fact: { fact?: string } & Record<string, unknown> }
  | { do: "run" }
  | { do: "set_clock"; to: string };

/** One report of a run until rest. */
export interface Report {
  decision: Decision | null;
  head: Head;
  effects: Effect[];
}

/** The outcome of a step: of a fact, of a run, of a replay, or an error. */
export type Outcome =
  | null
  | { error: ErrorReport }
  | { answer: string; reason?: string; because?: number; head: Head; effects: Effect[] }
  | Report[]
  | { expected?: Expected; found: Expected; explanation: Explanation };

/** One step of a trace. */
export interface Step {
  command: Command;
  outcome: Outcome;
  entries: Entry[];
  explanation: Explanation;
}

/** The trace of a case by one engine. */
export interface Trace {
  case: string;
  steps: Step[];
}

/** Whether the guest equals the native core. */
export type Verdict =
  | { native: "equal"; chain: string }
  | { native: "none" }
  | {
      native: "differs";
      step: number;
      part: "command" | "outcome" | "entries" | "explanation" | "length";
      entry: number | null;
    };
