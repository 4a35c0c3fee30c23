// Compares the guest's trace with the native one. The head names the whole history by its bytes;
// the rest is compared part by part.
import type { Entry, Step, Trace, Verdict } from "./trace.ts";

const PARTS = ["command", "entries", "outcome", "explanation"] as const;

/** The verdict on a guest's trace, given the native one where there is one. */
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
  // Chains are equal here, since the entries are; the last one names the history in the badge.
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

// Both come from JSON text of one field order, so equal values have equal texts.
function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
