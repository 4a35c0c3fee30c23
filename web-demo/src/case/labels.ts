// Labels for the names of the core. The compiler finds a missing one.
import type { Boundary, DecisionKind, Edition, Policy } from "@package/payloads.js";

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

/** The values of the policy that are numbers. */
export const POLICY: Record<
  Exclude<
    keyof Policy,
    "failed_turn_backoff_ms" | "offer_backoff_ms" | "overrides_waits" | "terminal_reentry"
  >,
  string
> = {
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
  id_bytes: "longest id, bytes",
  body_bytes: "longest body, bytes",
  fact_bytes: "longest fact, bytes",
  batch_arrivals: "arrivals per batch",
};

/** The names of a table of labels, with their type. */
export function names<K extends string>(labels: Record<K, string>): K[] {
  return Object.keys(labels) as K[];
}
