// The index of a ledger: for each entry a line to read, and the lane and subject that it is drawn
// under. Nothing here says what follows from it.
import { entrySummary } from "../case/entry-summary.ts";
import type { Entry } from "../case/trace.ts";

/** The lanes of the timeline, from top to bottom. */
export const LANES = [
  "messages",
  "turns",
  "tasks",
  "work items",
  "waits and timers",
  "runtime",
] as const;

/** One of them, by its place. */
export type Lane = number;

/** What the page knows of each entry. */
export interface Row {
  seq: number;
  /** RFC 3339. */
  at: string;
  class: string;
  /** What it says, in a line. */
  says: string;
  lane: Lane;
  /** What it is about, within its lane. */
  subject: string;
}

/**
 * How an entry class is drawn: its lane, and the fields of which the first that is there names the
 * subject.
 */
const DRAWN: Record<string, [(typeof LANES)[number], ...string[]]> = {
  messages: ["messages", "id"],
  queue_entries: ["messages", "message_id"],
  turns: ["turns", "run_id"],
  transcript: ["turns", "run_id"],
  tools: ["turns", "run_id"],
  briefs: ["turns", "run_id"],
  tasks: ["tasks", "id"],
  work_items: ["work items", "id"],
  waiting_intents: ["waits and timers", "id"],
  wait_conditions: ["waits and timers", "id"],
  timers: ["waits and timers", "id"],
};

/** The row of a stored line. */
export function rowOf(line: string): Row {
  const entry = JSON.parse(line) as Entry;
  const [lane, ...fields] = DRAWN[entry.class] ?? ["runtime"];
  const subject = fields
    .map((field) => entry.record[field])
    .find((value) => typeof value === "string");
  return {
    seq: entry.seq,
    at: entry.at,
    class: entry.class,
    says: entrySummary(entry),
    lane: LANES.indexOf(lane),
    subject: typeof subject === "string" ? subject : "",
  };
}
