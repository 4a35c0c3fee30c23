// What is odd in the history, as the core found it. Each oddity leads to its entry.
import type { Oddity, OddityKind } from "@package/payloads.js";

import { clockTime } from "../case/clock.ts";
import { counted } from "../case/words.ts";
import type { Changes } from "../document/use-decided.ts";
import type { Open } from "../document/use-document.ts";
import { Pane } from "../parts/pane.tsx";
import { Said } from "../parts/said.tsx";
import { visible } from "../parts/visible.ts";

/** The kinds, as people say them. */
const KINDS: Record<OddityKind, string> = {
  tick_burst: "Ticks",
  parked: "Parked",
  turn_failed: "Turn failed",
  task_failed: "Task failed",
  runtime_error: "Error",
  crash: "Crash",
  key_spent: "Spent key",
  wait_without_deadline: "No deadline",
  gap: "Gap",
  clock_step: "Clock",
  budget_spent: "Budget",
  diagnostic: "Diagnostic",
};

/** The most that are listed; a longer list says how many more there are. */
const MOST = 500;

/** The list, the newest last. */
export function OddPane({
  open,
  seq,
  decided,
  goTo,
}: {
  open: Open;
  seq: number;
  decided: Changes;
  goTo: (seq: number) => void;
}) {
  const { oddities, upTo } = decided;
  const shown = oddities.slice(-MOST);
  return (
    <Pane
      title="Odd"
      note={
        <span className="note" role="status">
          {upTo < open.length
            ? `${counted(oddities.length, "oddity", "oddities")} up to #${upTo.toLocaleString("en")}`
            : counted(oddities.length, "oddity", "oddities")}
        </span>
      }
    >
      {oddities.length === 0 && upTo >= open.length && (
        <p className="note pad">
          Nothing is odd: no failures, crashes, gaps, bursts of ticks or spent budgets.
        </p>
      )}
      {oddities.length > MOST && <p className="note pad">The newest {MOST} are listed.</p>}
      <ol className="odd" aria-label="oddities">
        {shown.map((odd) => (
          <li key={`${odd.kind} ${odd.seq}`}>
            <button
              type="button"
              className="odd-one"
              data-odd={odd.kind}
              aria-current={odd.seq <= seq && seq <= odd.last}
              onClick={() => goTo(odd.seq)}
            >
              <span className="odd-kind">{KINDS[odd.kind] ?? odd.kind}</span>
              <span className="odd-place">{place(odd)}</span>
              <span className="odd-says">
                <Said sentence={visible(odd.says)} />
              </span>
            </button>
          </li>
        ))}
      </ol>
    </Pane>
  );
}

function place({ seq, last, at, until }: Oddity): string {
  const from = clockTime(at, "1970-01-01T00:00:00Z");
  return last === seq
    ? `#${seq} · ${from}`
    : `#${seq} to #${last} · ${from} to ${clockTime(until, at)}`;
}
