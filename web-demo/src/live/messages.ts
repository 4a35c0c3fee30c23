// The messages between the page and the worker of the live agent.
import type {
  BudgetSet,
  BudgetSummary,
  ErrorPlace,
  ExternalTriggerCreated,
  Head,
  Priority,
  TriggerSummary,
} from "@package/payloads.js";

/** Real time moves on its own; virtual time moves on command. */
export type ClockMode = "real" | "virtual";

/** The behaviours of the scripted provider in a turn. */
export const DOINGS = {
  say: "says the text",
  nothing: "does nothing: no progress",
  make_item: "makes a work item, if its turn has none",
  complete_item: "completes the item of the turn",
  wait_operator: "waits for the operator",
  wait_timer: "waits for a minute",
  start_task: "starts a task, and continues",
  wait_task: "starts a task, and waits for it",
  wait_trigger: "waits for the trigger that the text names",
  fail: "fails",
  never: "never answers",
} as const;

/** One of them. */
export type Doing = keyof typeof DOINGS;

/** The behaviour of the scripted provider in turns that start from now on. */
export interface Behaviour {
  does: Doing;
  text: string;
  /** The duration of a turn, in milliseconds of the agent's time. */
  takes_ms: number;
  /** The tokens that a turn uses. */
  tokens: number;
}

/** The faults for the next append or fact. */
export const FAULTS = {
  fail_append: "the next append fails",
  duplicate: "the next fact arrives twice",
  delay: "the next fact is delayed",
  drop: "the next fact is lost",
} as const;

/** One of them. */
export type Fault = keyof typeof FAULTS;

/** The ends of a task. */
export type TaskEnd = "task_completed" | "task_failed" | "task_cancelled";

/** The commands of the page. */
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
  | { do: "create_trigger"; trigger: NewTrigger }
  | { do: "rotate_trigger"; external_trigger_id: string }
  | { do: "deliver_with"; token: string; text: string; delivery_id: string }
  | { do: "arm"; fault: Fault | null }
  | { do: "deliver" };

/** An external trigger to make. The engine makes its token. */
export type NewTrigger = Omit<ExternalTriggerCreated, "token_hash">;

/** A command, with the number that its answer repeats. */
export interface Ask {
  ask: number;
  command: Command;
}

/**
 * Why a command was refused: the error of the core or of the store, or why the core ignored the
 * fact.
 */
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
  /** Its end. Null if the provider never answers, or does not play it. */
  ends_at: string | null;
}

/** An external trigger, and its token if this process made it. */
export interface LiveTrigger {
  trigger: TriggerSummary;
  token: string | null;
}

/** The open agent. */
export interface LiveView {
  mode: ClockMode;
  /** The agent's time, RFC 3339; real time continues from there. */
  now: string;
  head: Head;
  /** The core's sentence about the agent. */
  sentence: string;
  status: string;
  run: PlayedRun | null;
  /** The next wake of the scheduler. */
  next_wake: string | null;
  /** The earlier of that and of the provider's next event. */
  next_event: string | null;
  active_tasks: string[];
  /** The ids of open work items. */
  open_items: string[];
  /** The external triggers that can be delivered to, the newest first. */
  triggers: LiveTrigger[];
  /** The budgets that have a limit. */
  budgets: BudgetSummary[];
  /** The limits of each owner, without grants. */
  limits: BudgetSet[];
  /** The number of delayed facts. */
  held: number;
  fault: Fault | null;
  /** Why the agent cannot continue on its own now. */
  trouble: string | null;
  /** Whether that is because the storage of the browser is full. */
  is_full: boolean;
}

/** The messages of the worker. */
export type Told =
  | { say: "answered"; ask: number; refused: Refusal | null }
  /** News; `view` is null if the ledger was closed. */
  | {
      say: "changed";
      view: LiveView | null;
      lines: string[];
      happened: Happening[];
      acts: string[];
    };
