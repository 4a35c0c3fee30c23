// The index of a ledger: for each entry a line to read, and its lane and subject in the timeline.
// Nothing is derived here.
import { entrySummary } from "../case/entry-summary.ts";
import type { Entry } from "../case/trace.ts";
import { visible } from "../parts/visible.ts";

/** The lanes of the timeline, from top to bottom. */
export const LANES = [
  "Messages",
  "Turns",
  "Tasks",
  "Work items",
  "Waits and timers",
  "Runtime",
] as const;

/** A lane, by its position. */
export type Lane = number;

/** An entry in the index of the page. */
export interface Row {
  seq: number;
  /** RFC 3339. */
  at: string;
  class: string;
  /** A line about it. */
  says: string;
  lane: Lane;
  /** Its subject within its lane. */
  subject: string;
}

/**
 * How an entry class is drawn: its lane, and the fields that may name its subject, the first
 * present one wins.
 */
export const DRAWN: Record<string, [(typeof LANES)[number], ...string[]]> = {
  messages: ["Messages", "id"],
  queue_entries: ["Messages", "message_id"],
  turns: ["Turns", "run_id"],
  transcript: ["Turns", "run_id"],
  tools: ["Turns", "run_id"],
  briefs: ["Turns", "run_id"],
  tasks: ["Tasks", "id"],
  work_items: ["Work items", "id"],
  waiting_intents: ["Waits and timers", "id"],
  wait_conditions: ["Waits and timers", "id"],
  timers: ["Waits and timers", "id"],
  external_triggers: ["Waits and timers", "external_trigger_id"],
  events: ["Runtime"],
  control: ["Runtime"],
};

/** The row of a stored line. */
export function rowOf(line: string): Row {
  const entry = JSON.parse(line) as Entry;
  const [lane, ...fields] = DRAWN[entry.class] ?? ["Runtime"];
  const subject = fields
    .map((field) => entry.record[field])
    .find((value) => typeof value === "string");
  return {
    seq: entry.seq,
    at: entry.at,
    class: entry.class,
    says: visible(entrySummary(entry)),
    lane: LANES.indexOf(lane),
    subject: typeof subject === "string" ? visible(subject) : "",
  };
}
