// What the page and the worker of the live agent say to each other.
import type { ErrorPlace, Head, Priority } from "@package/payloads.js";

/** Real time goes on by itself; virtual time goes on by command. */
export type ClockMode = "real" | "virtual";

/** What the scripted provider can do in a turn. */
export const DOINGS = {
  say: "says the text",
  nothing: "does nothing: no progress",
  make_item: "makes a work item, where its turn is about none",
  complete_item: "completes the item of the turn",
  wait_operator: "waits for the operator",
  wait_timer: "waits for a minute",
  start_task: "starts a task, and goes on",
  wait_task: "starts a task, and waits for it",
  fail: "fails",
  never: "never answers",
} as const;

/** One of them. */
export type Doing = keyof typeof DOINGS;

/** How the scripted provider behaves in the turns that start from now on. */
export interface Behaviour {
  does: Doing;
  text: string;
  /** How long a turn takes, in milliseconds of the agent's time. */
  takes_ms: number;
}

/** What can go wrong with what comes next. */
export const FAULTS = {
  fail_append: "the next append fails",
  duplicate: "the next fact is said twice",
  delay: "the next fact is held back",
  drop: "the next fact is lost",
} as const;

/** One of them. */
export type Fault = keyof typeof FAULTS;

/** How a task can end. */
export type TaskEnd = "task_completed" | "task_failed" | "task_cancelled";

/** What the page asks of the agent. */
export type Command =
  | { do: "open"; behaviour: Behaviour }
  | { do: "restart" }
  | { do: "shut_down" }
  | { do: "prompt"; text: string; priority: Priority }
  | { do: "say"; fact: string }
  | { do: "behave"; behaviour: Behaviour }
  | { do: "set_clock"; mode: ClockMode }
  | { do: "advance"; by_ms: number }
  | { do: "wake" }
  | { do: "end_task"; task_id: string; how: TaskEnd }
  | { do: "arm"; fault: Fault | null }
  | { do: "deliver" };

/** A command and the number by which its answer is known. */
export interface Ask {
  ask: number;
  command: Command;
}

/** Why something was refused: the core's own error, or the store's. */
export interface Refusal {
  code: string;
  message: string;
  place?: ErrorPlace;
}

/** A line of the log. */
export interface Happening {
  /** The agent's time, RFC 3339. */
  at: string;
  what: "fact" | "decision" | "provider" | "host" | "trouble";
  says: string;
}

/** The open run, as its provider plays it. */
export interface PlayedRun {
  run_id: string;
  /** When it ends; null where the provider never answers, or does not play it. */
  ends_at: string | null;
}

/** The open agent. */
export interface LiveView {
  mode: ClockMode;
  /** The agent's time, RFC 3339; real time goes on from there. */
  now: string;
  head: Head;
  /** What the agent does and why: the core's sentence. */
  sentence: string;
  status: string;
  run: PlayedRun | null;
  /** When the scheduler is to be asked again. */
  next_wake: string | null;
  /** The earliest of that and of what the provider does by itself. */
  next_event: string | null;
  active_tasks: string[];
  /** How many facts are held back. */
  held: number;
  fault: Fault | null;
  /** Why the agent cannot go on by itself now. */
  trouble: string | null;
}

/** What the worker says. */
export type Told =
  | { say: "answered"; ask: number; refused: Refusal | null }
  /** What is new; `view` is null when the ledger was let go. */
  | {
      say: "changed";
      view: LiveView | null;
      lines: string[];
      happened: Happening[];
      acts: string[];
    };
