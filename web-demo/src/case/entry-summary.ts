// One short line about an entry. The record itself is one click away.
import type { ControlRecord } from "@package/payloads.js";

import { LIMITS } from "./labels.ts";
import type { Entry } from "./trace.ts";
import { counted, grouped } from "./words.ts";

type Fields = Record<string, unknown>;

/** A line about an entry. */
export function entrySummary(entry: Entry): string {
  if (entry.class === CARRIED) {
    return carriedSummary(entry.record);
  }
  const summary = SUMMARIES[entry.class];
  return summary === undefined ? joined(entry.record["id"]) : summary(entry.record);
}

/** The class of lines of another runtime's ledger that no rule reads. */
const CARRIED = "carried";

/** The fields of another runtime's lines that say what they are, best first. */
const TELLING = ["text", "summary", "summary_lines", "objective", "kind", "reason", "repo_name"];

/** What a carried line is, and the best short text that it has. */
function carriedSummary({ of_class, line }: Fields): string {
  const of = fields(line);
  const texts = TELLING.map((field) => of[field]).map((value) =>
    Array.isArray(value) ? value.find((one) => typeof one === "string") : value,
  );
  const told = texts.find((value) => typeof value === "string" && value !== "") ?? of["id"];
  const data = eventWords(of["data"]);
  return joined(`carried: ${String(of_class)}, not read`, told, data === told ? null : data);
}

/** The words about an entry of each class. A class of a newer core is told by its id. */
export const SUMMARIES: Record<string, (record: Fields) => string> = {
  messages: (record) => joined(record["id"], record["kind"], bodyText(record["body"])),
  queue_entries: (record) => joined(record["message_id"], record["status"], record["reason"]),
  events: (record) => joined(record["kind"], eventWords(record["data"])),
  transcript: (record) => joined(record["run_id"], dataWords(record["data"])),
  tasks: (record) => joined(record["id"], record["status"], record["summary"] ?? record["kind"]),
  work_items: (record) =>
    joined(
      record["id"],
      record["state"],
      `r${String(record["revision"] ?? 0)}`,
      record["objective"],
    ),
  waiting_intents: (record) => joined(record["id"], record["status"], record["description"]),
  wait_conditions: (record) =>
    joined(record["id"], record["status"], record["kind"], record["waiting_for"]),
  timers: (record) =>
    joined(record["id"], record["status"] ?? "active", nextFire(record), record["summary"]),
  external_triggers: (record) =>
    joined(
      record["external_trigger_id"],
      record["status"],
      counted(record["delivery_count"], "delivery", "deliveries"),
      record["description"],
    ),
  tools: (record) => joined(record["tool_name"], record["status"], record["summary"]),
  briefs: (record) => joined(record["kind"], record["text"]),
  turns: (record) =>
    joined(record["run_id"], record["status"], record["kind"], record["last_assistant_message"]),
  control: (record) => {
    const told = record as unknown as ControlRecord;
    // A newer core may have more of them.
    const words = CONTROLS[told.control] as ((of: ControlRecord) => unknown) | undefined;
    return joined(told.control, words?.(told));
  },
};

type Control = ControlRecord["control"];

/** The words about each record of the control plane, after its name. */
const CONTROLS: {
  [Name in Control]: (record: Extract<ControlRecord, { control: Name }>) => unknown;
} = {
  genesis: ({ agent_id, edition }) => joined(agent_id, `edition ${edition}`),
  agent_imported: ({ status, turn_index }) => joined(status, counted(turn_index, "turn")),
  focus_set: ({ work_item_id, cause }) => joined(work_item_id, cause),
  wake_hint_pending: ({ external_trigger_id, reason }) => joined(external_trigger_id, reason),
  wake_hint_cleared: () => "",
  start_requested: () => "",
  stop_requested: () => "",
  shutdown_requested: () => "",
  runtime_restarted: () => "",
  item_parked: ({ work_item_id, cause }) => joined(work_item_id, cause),
  agent_parked: () => "",
  policy_set: ({ policy, edition }) =>
    joined(edition && `edition ${edition}`, Object.keys(policy ?? {}).join(", ")),
  clock_corrected: ({ last_at }) => `back from ${last_at}`,
  epochs_moved: ({ message_id, work_item_ids }) => joined(message_id, work_item_ids.join(", ")),
  budget_set: ({ work_item_id, ...limits }) =>
    joined(work_item_id ?? "the agent", limitsIn(limits) || "no limits"),
  budget_granted: ({ work_item_id, tokens, cost_micros }) =>
    joined(work_item_id ?? "the agent", usage(tokens, cost_micros)),
  round_counted: ({ run_id, input_tokens, output_tokens, cost_micros }) =>
    joined(run_id, usage((input_tokens ?? 0) + (output_tokens ?? 0), cost_micros)),
  budget_day_begun: () => "",
  agent_described: ({ kind, profile_preset, model }) => joined(kind, profile_preset, model),
  format_raised: ({ format }) => `format ${format}`,
};

function limitsIn(limits: Partial<Record<string, unknown>>): string {
  const set = Object.entries(LIMITS).flatMap(([name, says]) =>
    typeof limits[name] === "number" ? [`${grouped(limits[name])} ${says.toLowerCase()}`] : [],
  );
  return joined(...set);
}

function usage(tokens: number | null | undefined, cost: number | null | undefined): string {
  return joined(
    tokens == null || tokens === 0 ? null : counted(tokens, "token"),
    cost == null || cost === 0 ? null : `${counted(cost, "millionth")} of cost`,
  );
}

function joined(...parts: unknown[]): string {
  return parts.filter((part) => part !== null && part !== undefined && part !== "").join(" · ");
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** The text of what was said, or else the data as it is. */
function dataWords(data: unknown): unknown {
  return fields(data)["text"] ?? (data == null ? null : JSON.stringify(data).slice(0, 200));
}

function bodyText(body: unknown): unknown {
  const { text, title } = fields(body);
  return title ?? text;
}

function eventWords(data: unknown): string {
  const event = fields(data);
  const [resolution, closure] = [fields(event["resolution"]), fields(event["closure"])];
  return joined(
    event["kind"],
    event["decision"],
    event["fact"],
    event["reason"],
    resolution["class"],
    resolution["trigger_kind"],
    closure["outcome"],
    closure["waiting_reason"],
    event["work_item_id"],
    event["terminal_kind"],
    event["run_id"],
    event["error"],
  );
}

function nextFire(record: Fields): string | undefined {
  const at = record["next_fire_at"];
  return typeof at === "string" ? `fires ${at.slice(11, 19)}` : undefined;
}
