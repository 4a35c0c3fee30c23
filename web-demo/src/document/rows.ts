// What the page knows of an entry: its lane and subject in the timeline, its instant, and a line to
// read. Nothing is derived here.
import { entrySummary } from "../case/entry-summary.ts";
import type { Entry } from "../case/trace.ts";
import { visible } from "../parts/visible.ts";
import { LANES, partFor, type Part } from "./index.ts";
import type { Lines } from "./lines.ts";

/** An entry for people. */
export interface Row {
  seq: number;
  /** RFC 3339. For an imported entry it is the instant that the record itself has. */
  at: string;
  class: string;
  /** A line about it. */
  says: string;
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

/** The row of a stored line. `imported` is the instant of an import, if there was one. */
export function rowOf(line: string, imported: string | null = null): Row {
  const entry = JSON.parse(line) as Entry;
  return {
    seq: entry.seq,
    at: (entry.at === imported ? ownInstant(entry) : undefined) ?? entry.at,
    class: entry.class,
    says: visible(entrySummary(entry)),
  };
}

/** The words with which a record says that its subject goes on. */
const GOES_ON = new Set([
  "active",
  "running",
  "cancelling",
  "queued",
  "dequeued",
  "started",
  "open",
]);

/** Whether the subject of an entry goes on after it. */
function goesOn({ class: of, record }: Pick<Entry, "class" | "record">): boolean {
  const says = record[of === "work_items" ? "state" : "status"];
  // A timer without a status is active.
  return says === undefined ? of === "timers" : GOES_ON.has(String(says));
}

/** The subject of an entry within its lane; empty if it has none. */
export function subjectOf(entry: Pick<Entry, "class" | "record">): string {
  const [, ...fields] = DRAWN[entry.class] ?? ["Runtime"];
  const subject = fields
    .map((field) => entry.record[field])
    .find((value) => typeof value === "string");
  return typeof subject === "string" ? visible(subject) : "";
}

/** The fields in which a record says when it was written; the first present one wins. */
const WRITTEN = ["completed_at", "updated_at", "finalized_at", "last_fired_at", "created_at"];

/** The instant that the record of an imported entry has itself. */
function ownInstant({ class: of, record }: Entry): string | undefined {
  const line = of === "carried" ? (Object(record["line"]) as typeof record) : record;
  return WRITTEN.map((field) => line[field]).find(
    (value): value is string => typeof value === "string" && !Number.isNaN(Date.parse(value)),
  );
}

/** The instant of the import with which a ledger begins; null if it began by itself. */
export function importOf(lines: Lines): string | null {
  try {
    const entry = JSON.parse(lines.line(1)) as Entry;
    return entry.class === "control" && entry.record["control"] === "agent_imported"
      ? entry.at
      : null;
  } catch {
    // A ledger of one entry, or one that cannot be read beyond it.
    return null;
  }
}

/**
 * The beginning of a stored line: position, instant and class. A line that begins otherwise is read
 * as a whole.
 */
const BEGINS = /^\{"seq":\d+,"at":"([^"\\]+)","class":"([a-z_]+)","record":/;

/** Builds the index of lines, part by part. */
export class Indexer {
  readonly #classes: string[] = [];
  readonly #subjects = new Map<string, number>();
  readonly #imported: string | null;

  constructor(imported: string | null) {
    this.#imported = imported;
  }

  /** The index of the lines from `from` to before `to`. */
  part(lines: Lines, from: number, to: number): Part {
    const part = partFor(from, to - from, this.#classes);
    for (let at = from; at < to; at += 1) {
      this.#read(lines.line(at), part, at - from);
    }
    return { ...part, classes: [...this.#classes] };
  }

  #read(line: string, part: Part, at: number) {
    const [, instant, of] = BEGINS.exec(line) ?? [];
    const drawn = of === undefined ? undefined : DRAWN[of];
    const isShort =
      drawn !== undefined && drawn.length === 1 && instant !== this.#imported && of !== undefined;
    const entry = isShort
      ? { at: instant ?? "", class: of, record: {} }
      : (JSON.parse(line) as Entry);
    const own = !isShort && entry.at === this.#imported ? ownInstant(entry as Entry) : undefined;
    const lane = LANES.indexOf(DRAWN[entry.class]?.[0] ?? "Runtime");
    part.at[at] = Date.parse(own ?? entry.at);
    part.of[at] = this.#class(entry.class);
    part.lane[at] = lane;
    const subject = isShort ? "" : subjectOf(entry);
    part.subject[at] = subject === "" ? 0 : this.#subject(`${lane} ${subject}`);
    part.goesOn[at] = !isShort && goesOn(entry as Entry) ? 1 : 0;
  }

  #class(name: string): number {
    const known = this.#classes.indexOf(name);
    // A ledger has some twenty classes. What does not fit is shown without its class.
    return known === -1 && this.#classes.length < 256
      ? this.#classes.push(name) - 1
      : Math.max(0, known);
  }

  #subject(key: string): number {
    const known = this.#subjects.get(key);
    if (known !== undefined) {
      return known;
    }
    const made = this.#subjects.size + 1;
    this.#subjects.set(key, made);
    return made;
  }
}

/** The text of a row that a search looks into, in lower case. */
export function rowText({ seq, at, class: of, says }: Row): string {
  return `#${seq} ${of} ${says} ${at}`.toLowerCase();
}

/** The words of a search, in lower case. */
export function wordsOf(search: string): string[] {
  return search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
}
