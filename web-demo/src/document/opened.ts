// An open ledger: its lines as bytes, verified and folded by the guest, which answers about any
// entry. Nothing is decided here.
import type { Scheduler } from "@guest/wakeful_web.js";
import type * as Guest from "@guest/wakeful_web.js";
import type { ErrorReport } from "@package/payloads.js";
import { trace } from "@shell/play.mjs";

import { compare } from "../case/compare.ts";
import type { Entry, Trace, Verdict } from "../case/trace.ts";
import { visible, visibleIn } from "../parts/visible.ts";
import type { Part } from "./index.ts";
import { Lines, readLines } from "./lines.ts";
import type {
  Answer,
  Document,
  Look,
  Opened,
  Progress,
  Report,
  Said,
  Trouble,
} from "./messages.ts";
import { agentOf, observed } from "./reading.ts";
import { importOf, Indexer, rowOf, rowText, wordsOf } from "./rows.ts";
import type { Kind, Source } from "./source.ts";

/** The time of a piece of work in the background, so that a question never waits long. */
const SLICE_MS = 20;

/** The entries that are looked at between two looks at the clock. */
const STRIDE = 256;

/** The most entries of the first part of the index, and of a later one. */
const [FIRST_PART, MOST_OF_A_PART] = [1_024, 65_536];

/** The document of a worker, over the guest that it loads. */
export function documentOver(
  guest: Promise<typeof Guest>,
  handOver: (part: Part) => Part = (part) => part,
): Document {
  let lines = new Lines();
  let scheduler: Scheduler | undefined;
  let name = "";
  let imported: string | null = null;
  let indexer = new Indexer(null);
  let indexed = 0;
  let indexing = Promise.resolve();
  /** The number of the newest search. */
  let searching = 0;
  const said = new Interned();
  const folded = () => {
    if (scheduler === undefined) {
      throw new Error("nothing is open");
    }
    return scheduler;
  };
  const goOn = async (taken: (part: Part) => void) => {
    let most = FIRST_PART;
    while (indexed < lines.length) {
      const [from, began] = [indexed, performance.now()];
      indexed = Math.min(lines.length, from + most);
      taken(handOver(indexer.part(lines, from, indexed)));
      // A part takes about one slice, on a fast machine as on a slow one.
      const took = Math.max(1, performance.now() - began);
      most = Math.max(STRIDE, Math.min(MOST_OF_A_PART, (most * SLICE_MS) / took)) | 0;
      await pause();
    }
  };
  const row = (seq: number) => rowOf(lines.line(seq - 1), imported);
  return {
    async open(source, progress) {
      return answer(async () => {
        const loaded = await guest;
        const began = performance.now();
        const read = await linesOf(loaded, source, progress);
        ({ lines, name } = { lines: read.lines, name: source.name });
        const length = lines.length;
        const found = observed(
          loaded,
          lines,
          read.snapshot,
          paced("verifying", length, "entries", progress),
        );
        scheduler = found.scheduler;
        imported = importOf(lines);
        indexer = new Indexer(imported);
        propose(scheduler, source);
        const head = scheduler.head();
        const { broken } = found;
        return {
          name: visible(source.name),
          kind: kindOf(source),
          shows: visible(source.shows),
          agentId: visible(agentOf(lines)),
          length: head.seq,
          head,
          verdict: read.verdict,
          broken: broken && { seq: broken.seq, error: visibleIn(report(broken.error)) },
          warnings: read.warnings,
          snapshot: found.snapshot,
          recorded: imported !== null && isDataFolder(source),
          took_ms: performance.now() - began,
        } satisfies Opened;
      });
    },
    index(taken) {
      // One after the other: each continues where the one before ended.
      indexing = indexing.then(() => goOn(taken));
      return indexing;
    },
    async extend(more) {
      return answer(() => {
        const before = lines.length;
        more.forEach((line) => lines.push(line));
        try {
          folded().catchUp();
        } catch (error) {
          lines.cut(before);
          throw error;
        }
        return { length: lines.length, head: folded().head() };
      });
    },
    async rows(seqs) {
      return [...seqs].filter((seq) => seq >= 1 && seq <= lines.length).map(row);
    },
    async search(text, found) {
      searching += 1;
      const [mine, words, length] = [searching, wordsOf(text), lines.length];
      let at = 0;
      while (at < length) {
        const ends = performance.now() + SLICE_MS;
        const seqs: number[] = [];
        while (at < length && performance.now() < ends) {
          for (const end = Math.min(length, at + STRIDE); at < end; at += 1) {
            const of = rowText(row(at + 1));
            if (words.every((word) => of.includes(word))) {
              seqs.push(at + 1);
            }
          }
        }
        found(Uint32Array.from(seqs), at);
        await pause();
        if (mine !== searching) {
          return false;
        }
      }
      return true;
    },
    async see(look) {
      return answer(() => visibleIn(seen(folded(), look)));
    },
    async state(seq) {
      return answer(() => folded().stateAt(seq));
    },
    async line(seq) {
      return lines.line(seq - 1);
    },
    async lastReport(seq) {
      return reportBefore(lines, seq);
    },
    async whyNot(seq, boundary, decision) {
      return answer(() => visibleIn(folded().whyNotAt(boundary, decision, seq)));
    },
    async history(from, to, edition) {
      return answer(() => {
        const options = edition === undefined ? {} : { edition };
        const { decisions, oddities } = folded().history(from, to, options);
        return {
          seqs: Uint32Array.from(decisions, ({ seq }) => seq),
          says: Uint32Array.from(decisions, (change) => said.number(change)),
          said: said.all,
          oddities: visibleIn(oddities),
        };
      });
    },
    async fork(seq, facts) {
      return {
        kind: "fork",
        name: `${name} from #${seq}`,
        shows: `a fork of ${name} after entry ${seq}`,
        of: name,
        after: seq,
        lines: fileOf(lines, seq),
        facts,
      };
    },
    async folder(seq) {
      return answer(() => folded().exportFolder(seq));
    },
    async file() {
      return fileOf(lines, lines.length);
    },
    async agents(files) {
      return answer(async () => (await import("./sqlite.ts")).agentsOf(files));
    },
  };
}

/** What decisions say, each kept once: a long ledger decides the same thousands of times. */
class Interned {
  readonly all: Said[] = [];
  readonly #known = new Map<string, number>();

  number({ decision, rule, reason }: Said): number {
    const key = `${decision} ${rule} ${reason}`;
    const known = this.#known.get(key);
    if (known !== undefined) {
      return known;
    }
    this.#known.set(key, this.all.length);
    return this.all.push({ decision, rule, reason }) - 1;
  }
}

/** Lets questions of the page be answered. */
function pause(): Promise<void> {
  return new Promise((done) => setTimeout(done, 0));
}

/** The first lines as a file. */
function fileOf(lines: Lines, to: number): Blob {
  return new Blob(lines.bytes(0, to) as BlobPart[], { type: "application/x-ndjson" });
}

/** A ledger file of SQLite is a ledger too. */
function kindOf({ kind }: Source): Kind {
  return kind === "sqlite" ? "ledger" : kind;
}

function isDataFolder(source: Source): boolean {
  return (
    source.kind === "fixture" &&
    Object.keys(source.files).some((path) => path.startsWith(".holon/"))
  );
}

/** Reports how much is done, a few times per second. */
function paced(
  doing: Progress["doing"],
  of: number,
  unit: Progress["unit"],
  progress: (progress: Progress) => void,
): (done: number) => void {
  let next = 0;
  return (done) => {
    const now = performance.now();
    if (now >= next) {
      next = now + 50;
      progress({ doing, done, of, unit });
    }
  };
}

function seen(scheduler: Scheduler, look: Look) {
  const { boundary, supposed, now } = look;
  const view = scheduler.viewAt(look.seq, {
    ...(boundary === undefined ? {} : { boundary }),
    ...(now === undefined ? {} : { now }),
    ...supposed,
  });
  return { look, ...view };
}

/** What was read from a source. */
interface Read {
  lines: Lines;
  /** The comparison with the native core. */
  verdict: Verdict;
  snapshot: string | null;
  warnings: string[];
}

async function linesOf(
  guest: typeof Guest,
  source: Source,
  progress: (progress: Progress) => void,
): Promise<Read> {
  const read: Read = {
    lines: new Lines(),
    verdict: { native: "none" },
    snapshot: null,
    warnings: [],
  };
  switch (source.kind) {
    case "ledger":
    case "fork": {
      const of = source.lines.size;
      await readLines(source.lines, paced("reading", of, "bytes", progress), read.lines);
      if (read.lines.length === 0) {
        throw new Error(
          "this file has no entries; a ledger has one on each line, as `wakeful log LEDGER --json` and the workbench write it",
        );
      }
      return read;
    }
    case "sqlite": {
      // The library is loaded only for those who need it.
      const { readAgent } = await import("./sqlite.ts");
      const found = await readAgent(source.files, source.agent, (done, of) =>
        progress({ doing: "reading", done, of, unit: "entries" }),
      );
      return { ...read, ...found };
    }
    case "live":
    case "served":
      source.lines.forEach((line) => read.lines.push(line));
      return read;
    case "fixture":
    case "story": {
      const story = source.kind === "story" ? { case: source.name, story: source.story } : null;
      const job = story ?? {
        case: source.name,
        files: source.kind === "fixture" ? source.files : {},
      };
      const played = JSON.parse(
        trace(guest, job, (_, added) => added.forEach((line) => read.lines.push(line))),
      ) as Trace;
      const failed = played.steps[0]?.outcome;
      if (read.lines.length <= 1 && failed !== null && failed !== undefined && "error" in failed) {
        throw new Refused(failed.error);
      }
      return { ...read, verdict: compare(played, source.trace ?? undefined) };
    }
  }
}

function propose(scheduler: Scheduler, source: Source) {
  if (source.kind === "fork") {
    source.facts.forEach((fact) => scheduler.propose(fact));
  }
}

/** The error of the core. */
class Refused extends Error {
  readonly report: ErrorReport;
  constructor(report: ErrorReport) {
    super(report.message);
    this.report = report;
  }
}

/** The entries that are looked through for a report. An older one is not about the present. */
const RECENT = 1_000;

/** The newest brief up to an entry. */
function reportBefore(lines: Lines, seq: number): Report | null {
  for (let at = seq; at > Math.max(0, seq - RECENT); at -= 1) {
    const line = lines.line(at - 1);
    // Most lines have no brief, and need not be read as JSON.
    if (line.includes('"briefs"')) {
      const entry = JSON.parse(line) as Entry;
      const { text } = entry.record;
      if (entry.class === "briefs" && typeof text === "string") {
        return { seq: at, text: visible(text) };
      }
    }
  }
  return null;
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
