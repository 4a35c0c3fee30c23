// What stands at a step of a played case: the entries up to it, what the clock says, and which step wrote an entry.
import type { Entry, Step } from "./trace.ts";

/** The entries up to and with a step, and where those of the step itself begin. */
export function entriesUpTo(steps: Step[], step: number): { entries: Entry[]; newFrom: number } {
  const before = steps.slice(0, step).flatMap((earlier) => earlier.entries);
  return { entries: [...before, ...(steps[step]?.entries ?? [])], newFrom: before.length };
}

/** What the clock says after a step: the newest of what was set and what was written, as RFC 3339; the epoch where nothing was. */
export function clockAt(steps: Step[], step: number): string {
  let clock = "1970-01-01T00:00:00Z";
  for (const { command, entries } of steps.slice(0, step + 1)) {
    const said = command.do === "set_clock" ? command.to : entries.at(-1)?.at;
    if (said !== undefined && Date.parse(said) > Date.parse(clock)) {
      clock = said;
    }
  }
  return clock;
}

/** The step that wrote an entry. */
export function stepOf(steps: Step[], seq: number): number | null {
  const step = steps.findIndex(({ entries }) => entries.some((entry) => entry.seq === seq));
  return step === -1 ? null : step;
}
