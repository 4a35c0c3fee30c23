// Words for the names of the core, one for each; the compiler sees one that is missing.
import type { Boundary, DecisionKind, Edition, Policy } from "@package/payloads.js";

/** Decisions, in the order of the contract. */
export const DECISIONS: Record<DecisionKind, string> = {
  StartModelTurn: "start a turn of the model",
  ReduceMessageOnly: "settle a message without the model",
  EmitSystemTick: "send itself a tick",
  WaitForTask: "wait for a task",
  WaitForExternalChange: "wait for something external",
  WaitForTimer: "wait for a timer",
  WaitForOperator: "wait for the operator",
  Sleep: "go to sleep",
  StayIdle: "stay at rest",
  Stop: "not run",
  Noop: "do nothing here",
};

/** Places in a host's loop. */
export const BOUNDARIES: Record<Boundary, string> = {
  run_loop: "between two messages",
  run_loop_idle: "with an empty queue",
  message_processing: "while a message is settled",
  idle_tick: "when idle, for a tick",
  before_provider_continuation: "before another round of the provider",
  after_provider_round: "after a round of the provider",
  before_tool_execution: "before tools are executed",
  after_tool_results: "after tools were executed",
};

/** Editions, the default first. */
export const EDITIONS: Record<Edition, string> = {
  "2026-05-27": "edition of the pages, 2026-05-27",
  "2026-05-08": "edition of the RFC, 2026-05-08",
};

/** The values of the policy that are numbers. */
export const POLICY: Record<
  Exclude<keyof Policy, "failed_turn_backoff_ms" | "offer_backoff_ms" | "overrides_waits">,
  string
> = {
  lane_burst: "messages of a lane in a row",
  deferred_cap: "messages that may be deferred",
  hint_ids: "ids that a hint remembers",
  replay_budget: "how often a message is replayed",
  failed_turn_retries: "how often a failed turn is tried again",
  autonomous_turns: "turns without a person",
  run_lease_ms: "lease of a run, ms",
  system_wait_delay_ms: "delay of a system wait, ms",
  id_bytes: "longest id, bytes",
  body_bytes: "longest body, bytes",
  fact_bytes: "longest fact, bytes",
  batch_arrivals: "arrivals in a batch",
};

/** The names of a table of labels, as its type has them. */
export function names<K extends string>(labels: Record<K, string>): K[] {
  return Object.keys(labels) as K[];
}
