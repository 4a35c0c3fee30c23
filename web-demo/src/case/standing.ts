// Budgets and external triggers in words. What is used, what is reached and who waits is the core's
// answer: nothing is decided here.
import type { BudgetSummary, LimitSummary, TriggerSummary, Usage } from "@package/payloads.js";

import { clockTime } from "./clock.ts";
import { DELIVERY_MODES, LIMITS, TRUSTS, type Limit } from "./labels.ts";
import { counted, grouped } from "./words.ts";

/** What a trigger is: names and values. */
export function triggerFacts(trigger: TriggerSummary, now: string): [string, string][] {
  const { work_item_id, expires_at, last_delivered_at, awaited_by } = trigger;
  const last =
    last_delivered_at == null ? "" : `, the last at ${clockTime(last_delivered_at, now)}`;
  return [
    ["Serves", work_item_id ?? "the agent"],
    ["Becomes", DELIVERY_MODES[trigger.delivery_mode]],
    ["Trusted", TRUSTS[trigger.trust]],
    ["Deliveries", `${grouped(trigger.delivery_count)}${trigger.one_shot ? " of 1" : ""}${last}`],
    ["Expires", expires_at == null ? "never" : `at ${clockTime(expires_at, now)}`],
    ["Awaited by", awaited_by.length === 0 ? "nobody" : awaited_by.join(", ")],
  ];
}

/** The owner of a budget. */
export function ownerWords({ work_item_id }: BudgetSummary): string {
  return work_item_id ?? "The agent";
}

/** The name of a limit. */
export function limitName({ limit }: LimitSummary): string {
  return LIMITS[limit as Limit] ?? limit;
}

/** What is used of a limit. */
export function limitUse({ used, of }: LimitSummary): string {
  return `${grouped(used)} of ${grouped(of)}`;
}

/** Whether a limit is reached, as its numbers say. */
export function isReached({ used, of }: LimitSummary): boolean {
  return used >= of;
}

/** When a limit begins anew, or what ends it. */
export function limitEnd(limit: LimitSummary, now: string): string {
  const { renews_at } = limit;
  if (isReached(limit)) {
    return renews_at == null
      ? "used up, until a grant or a higher limit"
      : `used up, until midnight UTC (${clockTime(renews_at, now)})`;
  }
  return renews_at == null ? "" : `begins anew at midnight UTC (${clockTime(renews_at, now)})`;
}

/** What was used, in words. */
export function usageWords(usage: Usage): string {
  const cost =
    usage.cost_micros === 0 ? "" : `, ${counted(usage.cost_micros, "millionth")} of cost`;
  const tokens = usage.input_tokens + usage.output_tokens;
  return `${counted(tokens, "token")} in ${counted(usage.rounds, "round")}${cost}`;
}
