// An open ledger: lines in memory, verified and folded by the guest, which answers about any entry.
// Nothing is decided here.
import type { Scheduler } from "@guest/wakeful_web.js";
import type * as Guest from "@guest/wakeful_web.js";
import type { ErrorReport, Head } from "@package/payloads.js";
import { trace } from "@shell/play.mjs";

import { compare } from "../case/compare.ts";
import type { Trace, Verdict } from "../case/trace.ts";
import type { Answer, Document, Look, Opened, Progress, Trouble } from "./messages.ts";
import { visible, visibleIn } from "../parts/visible.ts";
import { rowOf, type Row } from "./rows.ts";
import type { Source } from "./source.ts";

/** The number of rows per message. */
const PART = 4_000;

/** The document of a worker, over the guest that it loads. */
export function documentOver(guest: Promise<typeof Guest>): Document {
  let lines: string[] = [];
  let scheduler: Scheduler | undefined;
  let name = "";
  const folded = () => {
    if (scheduler === undefined) {
      throw new Error("nothing is open");
    }
    return scheduler;
  };
  return {
    async open(source, progress, indexed) {
      return answer(async () => {
        const loaded = await guest;
        const began = performance.now();
        const read = linesOf(loaded, source);
        ({ lines, name } = { lines: read.lines, name: source.name });
        const given = lines.length;
        // The page takes the index while the guest verifies. The guest reports a line that is not
        // JSON, with the number of its entry.
        const taken = index(lines, progress, indexed);
        taken.catch(() => undefined);
        scheduler = observer(loaded, lines, progress);
        propose(scheduler, source);
        await Promise.all([taken, index(lines.slice(given), progress, indexed)]);
        const head = scheduler.head();
        const opened = {
          ...about(source),
          agentId: visible(read.agentId),
          length: head.seq,
          head,
          verdict: read.verdict,
        };
        return { ...opened, took_ms: performance.now() - began } satisfies Opened;
      });
    },
    async extend(more) {
      return answer(() => {
        const from = lines.length;
        lines.push(...more);
        folded().catchUp();
        return { length: lines.length, head: folded().head(), rows: lines.slice(from).map(rowOf) };
      });
    },
    async see(look) {
      return answer(() => visibleIn(seen(folded(), look)));
    },
    async state(seq) {
      return answer(() => folded().stateAt(seq));
    },
    async line(seq) {
      return lines[seq - 1] ?? "";
    },
    async whyNot(seq, boundary, decision) {
      return answer(() => visibleIn(folded().whyNotAt(boundary, decision, seq)));
    },
    async decided(from, to, edition) {
      return answer(() => folded().decisionsIn(from, to, edition === undefined ? {} : { edition }));
    },
    async fork(seq, facts) {
      return {
        kind: "fork",
        name: `${name} from #${seq}`,
        shows: `a fork of ${name} after entry ${seq}`,
        of: name,
        after: seq,
        lines: lines.slice(0, seq),
        facts,
      };
    },
    async folder(seq) {
      return answer(() => folded().exportFolder(seq));
    },
    async text() {
      return lines.map((line) => `${line}\n`).join("");
    },
  };
}

function about({ name, kind, shows }: Source) {
  return { name: visible(name), kind, shows: visible(shows) };
}

function seen(scheduler: Scheduler, look: Look) {
  const { boundary, supposed } = look;
  const view = scheduler.viewAt(look.seq, {
    ...(boundary === undefined ? {} : { boundary }),
    ...supposed,
  });
  return { look, boundary: view.boundary, explanation: view.explanation, summary: view.summary };
}

/**
 * The lines of a source, their agent, and the comparison with the native core.
 */
function linesOf(
  guest: typeof Guest,
  source: Source,
): { lines: string[]; agentId: string; verdict: Verdict } {
  const none: Verdict = { native: "none" };
  switch (source.kind) {
    case "ledger": {
      const lines = source.text.split("\n").filter((line) => line.trim() !== "");
      if (lines.length === 0) {
        throw new Error(
          "this file has no entries; a ledger has one on each line, as `wakeful export` and the workbench write it",
        );
      }
      return { lines, agentId: agentOf(lines), verdict: none };
    }
    case "fork":
    case "live":
    case "served":
      return { lines: [...source.lines], agentId: agentOf(source.lines), verdict: none };
    case "fixture":
    case "story": {
      const lines: string[] = [];
      const job =
        source.kind === "story"
          ? { case: source.name, story: source.story }
          : { case: source.name, files: source.files };
      const played = JSON.parse(trace(guest, job, (_, added) => lines.push(...added))) as Trace;
      const failed = played.steps[0]?.outcome;
      if (lines.length <= 1 && failed !== null && failed !== undefined && "error" in failed) {
        throw new Refused(failed.error);
      }
      return {
        lines,
        agentId: agentOf(lines),
        verdict: compare(played, source.trace ?? undefined),
      };
    }
  }
}

/** The agent of the first entry. If it has none, the core says what is wrong. */
function agentOf(lines: string[]): string {
  const named = parsed(lines[0])?.record?.agent_id;
  return typeof named === "string" ? named : "";
}

/** A scheduler that reads and starts nothing. */
function observer(
  guest: typeof Guest,
  lines: string[],
  progress: (progress: Progress) => void,
): Scheduler {
  const refuse = () => {
    throw new Error("an observer starts nothing");
  };
  const ledger = {
    append: (expected: Head, batch: string[]) => {
      lines.splice(expected.seq, lines.length, ...batch);
    },
    read: (after: number, limit: number) => {
      progress({ doing: "verifying", done: after, of: lines.length });
      return lines.slice(after, after + limit);
    },
  };
  const provider = {
    startTurn: refuse,
    interject: refuse,
    yieldTurn: refuse,
    abortTurn: refuse,
    release: refuse,
  };
  // The instant of the newest entry, so that opening makes nothing due.
  const clock = { now: () => instantOf(lines.at(-1)) };
  return guest.Scheduler.observe({ agent_id: agentOf(lines) }, { ledger, clock, provider });
}

/**
 * The instant of an entry in nanoseconds since the epoch; 0 if it has none.
 */
function instantOf(line: string | undefined): bigint {
  const at = parsed(line)?.at;
  return typeof at === "string" && !Number.isNaN(Date.parse(at))
    ? BigInt(Date.parse(at)) * 1_000_000n + fraction(at)
    : 0n;
}

/** A parsed line, or undefined if it is not JSON. */
function parsed(
  line: string | undefined,
): { at?: unknown; record?: { agent_id?: unknown } } | null {
  try {
    return JSON.parse(line ?? "null") as ReturnType<typeof parsed>;
  } catch {
    return null;
  }
}

/** The nanoseconds below a millisecond, which `Date` drops. */
function fraction(at: string): bigint {
  return BigInt(/\.\d{3}(\d{1,6})/.exec(at)?.[1]?.padEnd(6, "0") ?? 0);
}

function propose(scheduler: Scheduler, source: Source) {
  if (source.kind === "fork") {
    source.facts.forEach((fact) => scheduler.propose(fact));
  }
}

/**
 * Sends the rows of these lines in parts, on their own channel. Resolves when all were taken.
 */
async function index(
  lines: string[],
  progress: (progress: Progress) => void,
  indexed: (rows: Row[]) => void | Promise<void>,
): Promise<void> {
  const taken: (void | Promise<void>)[] = [];
  for (let from = 0; from < lines.length; from += PART) {
    taken.push(indexed(lines.slice(from, from + PART).map(rowOf)));
    progress({ doing: "reading", done: Math.min(from + PART, lines.length), of: lines.length });
  }
  await Promise.all(taken);
}

/** The error of the core. */
class Refused extends Error {
  readonly report: ErrorReport;
  constructor(report: ErrorReport) {
    super(report.message);
    this.report = report;
  }
}

/** The result, or the report of the error. */
async function answer<T>(act: () => T | Promise<T>): Promise<Answer<T>> {
  try {
    return { ok: await act() };
  } catch (error) {
    return { error: visibleIn(report(error)) };
  }
}

function report(error: unknown): Trouble {
  if (error instanceof Refused) {
    return error.report;
  }
  if (error instanceof Error && "reportText" in error && typeof error.reportText === "string") {
    return JSON.parse(error.reportText) as ErrorReport;
  }
  return { message: error instanceof Error ? error.message : String(error) };
}
