// The sentence at the top: where the agent stands and what it would do next, computed from decision, status, posture and obligations.
import type { AgentStatus, Explanation } from "@package/payloads.js";

/** What the sentence is made from. */
export type Told = Pick<Explanation, "status" | "decision" | "posture" | "obligations" | "next_wake">;

/** A status in a word or two. */
const STANDS: Record<AgentStatus, string> = {
  booting: "Booting",
  awake_idle: "Awake",
  awake_running: "Running",
  awaiting_task: "Asleep",
  asleep: "Asleep",
  stopped: "Stopped",
};

/** The sentence for an explanation, given what the clock says (RFC 3339). */
export function sentence(told: Told, now: string): string {
  return `${STANDS[told.status]}: ${clause(told)}${wakes(told, now)}`;
}

function clause(told: Told): string {
  const { decision, posture } = told;
  const message = named("message", decision.message_id);
  switch (decision.decision) {
    case "Stop":
      return decision.reason === "shutdown" ? "shuts down, starts nothing until it is restarted" : "does nothing until it is started";
    case "Noop":
      return `${named("run", posture.run_id)} is open, nothing else is started`;
    case "StartModelTurn":
      return `${message} starts a turn next`;
    case "ReduceMessageOnly":
      return `${message} is settled next, without the model`;
    case "EmitSystemTick":
      return tick(told);
    case "WaitForTask":
      return `${item(told)} waits for ${named("task", decision.task_id ?? posture.task_id)}`;
    case "WaitForExternalChange":
      return `${item(told)} waits for something external`;
    case "WaitForTimer":
      return decision.work_item_id == null ? `waits for ${timer(told)}` : `${item(told)} waits for an instant`;
    case "WaitForOperator":
      return `${item(told)} waits for the operator`;
    case "Sleep":
    case "StayIdle":
      return "nothing is pending";
  }
}

function tick(told: Told): string {
  switch (told.decision.reason) {
    case "wake_hint":
      return "a pending wake hint becomes a tick next";
    case "work_item_system_wait":
      return `${item(told)} waits for the runtime, which ticks it next`;
    default:
      return `${item(told)} is offered to the model next`;
  }
}

function item({ decision }: Told): string {
  return decision.work_item_id == null ? "the agent" : `work item ${decision.work_item_id}`;
}

function named(what: string, id: string | null | undefined): string {
  return id == null ? `a ${what}` : `${what} ${id}`;
}

/** The timer that fires first. */
function timer(told: Told): string {
  const timers = told.obligations.filter((owed) => owed.kind === "timer" && owed.enabled_at != null);
  timers.sort((left, right) => instant(left.enabled_at) - instant(right.enabled_at));
  return named("timer", timers[0]?.id);
}

const RESTS = new Set(["WaitForTask", "WaitForExternalChange", "WaitForTimer", "WaitForOperator", "Sleep", "StayIdle"]);

/** When a resting agent looks again by itself; an instant that has come is due. */
function wakes({ decision, next_wake }: Told, now: string): string {
  if (next_wake == null || !RESTS.has(decision.decision)) {
    return "";
  }
  return instant(next_wake) <= instant(now) ? "; due now" : `; wakes at ${clockTime(next_wake, now)}`;
}

function instant(text: string | null | undefined): number {
  return text == null ? Number.POSITIVE_INFINITY : Date.parse(text);
}

/** An instant in UTC, as short as it stays clear next to `now`: no date on the same day, no seconds where they are zero. */
export function clockTime(text: string, now: string): string {
  const [day = "", time = ""] = new Date(text).toISOString().split("T");
  const [today] = new Date(now).toISOString().split("T");
  const short = time.slice(6, 8) === "00" ? time.slice(0, 5) : time.slice(0, 8);
  return day === today ? short : `${day} ${short}`;
}
