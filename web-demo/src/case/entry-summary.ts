// One short line about an entry. The record itself is one click away.
import type { Entry } from "./trace.ts";

type Fields = Record<string, unknown>;

/** A line about an entry. */
export function entrySummary(entry: Entry): string {
  const summary = SUMMARIES[entry.class];
  return summary === undefined ? joined(entry.record["id"]) : summary(entry.record);
}

const SUMMARIES: Record<string, (record: Fields) => string> = {
  messages: (record) => joined(record["id"], record["kind"], bodyText(record["body"])),
  queue_entries: (record) => joined(record["message_id"], record["status"], record["reason"]),
  events: (record) => joined(record["kind"], eventWords(record["data"])),
  transcript: (record) => joined(record["run_id"], fields(record["data"])["text"]),
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
      `deliveries ${String(record["delivery_count"] ?? 0)}`,
      record["description"],
    ),
  tools: (record) => joined(record["tool_name"], record["status"], record["summary"]),
  briefs: (record) => joined(record["kind"], record["text"]),
  turns: (record) =>
    joined(record["run_id"], record["status"], record["kind"], record["last_assistant_message"]),
  control: (record) =>
    joined(
      record["control"],
      record["work_item_id"],
      record["cause"],
      record["reason"],
      genesisWords(record),
    ),
};

function joined(...parts: unknown[]): string {
  return parts.filter((part) => part !== null && part !== undefined && part !== "").join(" · ");
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function bodyText(body: unknown): unknown {
  const { text, title } = fields(body);
  return title ?? text;
}

function eventWords(data: unknown): string {
  const event = fields(data);
  const [resolution, closure] = [fields(event["resolution"]), fields(event["closure"])];
  return joined(
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

function genesisWords(record: Fields): string | undefined {
  return record["control"] === "genesis"
    ? joined(record["agent_id"], `edition ${String(record["edition"])}`)
    : undefined;
}
