// Labels for the names of the core. The compiler finds a missing one.
import type {
  Boundary,
  BudgetSet,
  CallbackDeliveryMode,
  DecisionKind,
  Edition,
  ExternalTrust,
  ObligationKind,
  Policy,
} from "@package/payloads.js";

/** Decisions, in the order of the contract. */
export const DECISIONS: Record<DecisionKind, string> = {
  StartModelTurn: "start a model turn",
  ReduceMessageOnly: "settle a message without the model",
  EmitSystemTick: "queue a tick for itself",
  WaitForTask: "wait for a task",
  WaitForExternalChange: "wait for something external",
  WaitForTimer: "wait for a timer",
  WaitForOperator: "wait for the operator",
  Sleep: "go to sleep",
  StayIdle: "stay at rest",
  Stop: "not run",
  Noop: "do nothing now",
};

/** The state under which a list of agents has one that the core decides so about. */
export const LISTED_AS: Record<DecisionKind, "works" | "waits" | "rests" | "stopped"> = {
  StartModelTurn: "works",
  ReduceMessageOnly: "works",
  EmitSystemTick: "works",
  WaitForTask: "waits",
  WaitForExternalChange: "waits",
  WaitForTimer: "waits",
  WaitForOperator: "waits",
  Sleep: "rests",
  StayIdle: "rests",
  Stop: "stopped",
  Noop: "works",
};

/** The boundaries of a host's loop. */
export const BOUNDARIES: Record<Boundary, string> = {
  run_loop: "between two messages",
  run_loop_idle: "with an empty queue",
  message_processing: "while a message is being settled",
  idle_tick: "when idle, for a tick",
  before_provider_continuation: "before the next provider round",
  after_provider_round: "after a provider round",
  before_tool_execution: "before tools run",
  after_tool_results: "after tools have run",
};

/** Editions, the default first. */
export const EDITIONS: Record<Edition, string> = {
  "2026-05-27": "edition of the pages, 2026-05-27",
  "2026-05-08": "edition of the RFC, 2026-05-08",
};

/** The fields of the policy that are lists. The ladder does not suppose other ones. */
type PolicyList = {
  [Name in keyof Policy]-?: NonNullable<Policy[Name]> extends readonly unknown[] ? Name : never;
}[keyof Policy];

/** A field of the policy with one value. */
export type PolicyField = Exclude<keyof Policy, PolicyList>;

/** The fields of the policy that have one value. */
export const POLICY: Record<PolicyField, string> = {
  lane_burst: "messages in a row from one lane",
  deferred_cap: "deferred messages",
  deferred_bytes: "deferred content per turn, bytes",
  operator_waits: "waits listed with an answer",
  hint_ids: "ids per hint",
  replay_budget: "replays of a message",
  failed_turn_retries: "retries of a failed turn",
  autonomous_turns: "self-started turns",
  run_lease_ms: "lease of a run, ms",
  system_wait_delay_ms: "delay of a system wait, ms",
  terminal_reentry: "task results that re-enter the model",
  id_bytes: "longest id, bytes",
  body_bytes: "longest body, bytes",
  fact_bytes: "longest fact, bytes",
  batch_arrivals: "arrivals per batch",
};

/** The fields of the policy that are a choice. */
type PolicyChoice = {
  [Name in PolicyField]: NonNullable<Policy[Name]> extends string ? Name : never;
}[PolicyField];

/** The values of these choices. */
export const POLICY_CHOICES: {
  [Name in PolicyChoice]: Record<NonNullable<Policy[Name]> & string, string>;
} = {
  terminal_reentry: { every: "every", awaited: "awaited ones" },
};

/** What the agent still has to do. */
export const OBLIGATIONS: Record<ObligationKind, string> = {
  message: "Message",
  timer: "Timer",
  deadline: "Deadline",
  retry: "Retry",
  recheck: "Recheck",
  wake_hint: "Wake hint",
  runnable_item: "Runnable item",
  system_wait: "System wait",
  budget_day: "Day of a budget",
  interrupted_run: "Interrupted run",
};

/** What a delivery to an external trigger becomes. */
export const DELIVERY_MODES: Record<CallbackDeliveryMode, string> = {
  wake_hint: "a wake hint",
  enqueue_message: "a message",
};

/** How far those who deliver are trusted. */
export const TRUSTS: Record<ExternalTrust, string> = {
  untrusted_external: "as evidence",
  trusted_integration: "as an integration",
};

/** The name of a limit of a budget. */
export type Limit = Exclude<keyof BudgetSet, "work_item_id">;

/** The limits of a budget. */
export const LIMITS: Record<Limit, string> = {
  tokens_per_day: "Tokens of the day",
  tokens_total: "Tokens in all",
  cost_micros_per_day: "Millionths of cost of the day",
};

/** The names of a table of labels, with their type. */
export function names<K extends string>(labels: Record<K, string>): K[] {
  return Object.keys(labels) as K[];
}
