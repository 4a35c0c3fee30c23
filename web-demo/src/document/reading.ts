// Opens lines with the guest: verifies them, and finds where a damaged ledger breaks.
import type * as Guest from "@guest/wakeful_web.js";
import type { Scheduler } from "@guest/wakeful_web.js";
import type { Head } from "@package/payloads.js";

import type { Lines } from "./lines.ts";

/** A scheduler over lines, and the first entry that it could not verify. */
export interface Observed {
  scheduler: Scheduler;
  broken: { seq: number; error: unknown } | null;
  /** The position of the snapshot from which it was opened; 0 without one. */
  snapshot: number;
}

/**
 * Verifies lines. At the first entry that cannot be verified, the lines are cut. If that is the
 * first entry of all, the error is thrown.
 */
export function observed(
  guest: typeof Guest,
  lines: Lines,
  snapshot: string | null,
  verified: (seq: number) => void,
): Observed {
  const failing = { after: 0 };
  const read = (after: number) => {
    failing.after = after;
    verified(after);
  };
  try {
    const from = { seq: -1 };
    const scheduler = observer(guest, lines, snapshot, (after) => {
      // The core first reads the entry of a snapshot. It begins at 0 if it cannot use the snapshot.
      from.seq = after === 0 ? 0 : from.seq === -1 ? after + 1 : from.seq;
      read(after);
    });
    return { scheduler, broken: null, snapshot: Math.max(0, from.seq) };
  } catch (error) {
    return { ...upToTheBreak(guest, lines, failing.after, error, read), snapshot: 0 };
  }
}

/**
 * Verifies what comes before the page that failed, and then entry by entry. So the core says which
 * entry it is, and the page reads no error texts.
 */
function upToTheBreak(
  guest: typeof Guest,
  lines: Lines,
  after: number,
  error: unknown,
  verified: (seq: number) => void,
): Omit<Observed, "snapshot"> {
  const whole = lines.length;
  const sound = Math.max(1, Math.min(after, whole));
  const limit = { to: sound };
  let scheduler: Scheduler;
  try {
    scheduler = observer(guest, lines, null, verified, limit);
  } catch (first) {
    // Nothing can be shown of a ledger whose first entry is damaged.
    throw sound === 1 ? first : error;
  }
  while (limit.to < whole) {
    limit.to += 1;
    try {
      scheduler.catchUp();
    } catch (why) {
      const seq = limit.to;
      lines.cut(seq - 1);
      limit.to = Number.POSITIVE_INFINITY;
      return { scheduler, broken: { seq, error: why } };
    }
  }
  // Every entry is sound by itself, so the error was not about an entry.
  throw error;
}

/** A scheduler that reads and starts nothing. It sees the lines up to a limit that may grow. */
function observer(
  guest: typeof Guest,
  lines: Lines,
  snapshot: string | null,
  verified: (seq: number) => void,
  limit = { to: Number.POSITIVE_INFINITY },
): Scheduler {
  const refuse = () => {
    throw new Error("an observer starts nothing");
  };
  const ledger = {
    append: (expected: Head, batch: string[]) => {
      lines.cut(expected.seq);
      batch.forEach((line) => lines.push(line));
    },
    read: (after: number, most: number) => {
      verified(after);
      return lines.page(after, Math.max(0, Math.min(most, limit.to - after))).bytes;
    },
    ...(snapshot === null ? {} : { loadSnapshot: () => snapshot }),
  };
  const provider = {
    startTurn: refuse,
    interject: refuse,
    yieldTurn: refuse,
    abortTurn: refuse,
    release: refuse,
  };
  // The instant of the newest entry, so that opening makes nothing due.
  const clock = { now: () => instantOf(lines) };
  // The workbench's module also reads a ledger of bytes; the shared declarations of a host do not
  // say so.
  const host = { ledger: ledger satisfies Guest.ByteLedger as unknown as Guest.Ledger };
  return guest.Scheduler.observe({ agent_id: agentOf(lines) }, { ...host, clock, provider });
}

/** The agent of the first entry. If it has none, the core says what is wrong. */
export function agentOf(lines: Lines): string {
  const named = parsed(lines, 0)?.record?.agent_id;
  return typeof named === "string" ? named : "";
}

/**
 * The instant of the newest entry in nanoseconds since the epoch; 0 if it has none.
 */
function instantOf(lines: Lines): bigint {
  const at = parsed(lines, lines.length - 1)?.at;
  return typeof at === "string" && !Number.isNaN(Date.parse(at))
    ? BigInt(Date.parse(at)) * 1_000_000n + fraction(at)
    : 0n;
}

/** A parsed line, or null if it is not JSON. */
function parsed(
  lines: Lines,
  index: number,
): { at?: unknown; record?: { agent_id?: unknown } } | null {
  try {
    return JSON.parse(lines.line(index)) as ReturnType<typeof parsed>;
  } catch {
    return null;
  }
}

/** The nanoseconds below a millisecond, which `Date` drops. */
function fraction(at: string): bigint {
  return BigInt(/\.\d{3}(\d{1,6})/.exec(at)?.[1]?.padEnd(6, "0") ?? 0);
}
