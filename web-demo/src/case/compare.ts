// Compares the guest's trace with the native one. Equal heads mean equal histories; the rest is
// compared part by part.
import type { Entry, Step, Trace, Verdict } from "./trace.ts";

const PARTS = ["command", "entries", "outcome", "explanation"] as const;

/** The verdict on a guest's trace, compared with the native one if there is one. */
export function compare(guest: Trace, native: Trace | undefined): Verdict {
  if (native === undefined) {
    return { native: "none" };
  }
  const steps = Math.max(guest.steps.length, native.steps.length);
  for (let step = 0; step < steps; step += 1) {
    const [ours, theirs] = [guest.steps[step], native.steps[step]];
    if (ours === undefined || theirs === undefined) {
      return { native: "differs", step, part: "length", entry: null };
    }
    const part = PARTS.find((name) => !same(ours[name], theirs[name]));
    if (part !== undefined) {
      return {
        native: "differs",
        step,
        part,
        entry: part === "entries" ? firstDifferent(ours, theirs) : null,
      };
    }
  }
  // The chains are equal here, because the entries are. The badge shows the last one.
  return { native: "equal", chain: guest.steps.at(-1)?.explanation.head.chain ?? "" };
}

function firstDifferent(ours: Step, theirs: Step): number | null {
  const length = Math.max(ours.entries.length, theirs.entries.length);
  for (let index = 0; index < length; index += 1) {
    const [mine, other]: (Entry | undefined)[] = [ours.entries[index], theirs.entries[index]];
    if (mine?.chain !== other?.chain || !same(mine, other)) {
      return (mine ?? other)?.seq ?? null;
    }
  }
  return null;
}

// Both come from JSON text with one order of fields, so equal values have equal texts.
function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
