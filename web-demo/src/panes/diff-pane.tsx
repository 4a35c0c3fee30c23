// The diff: the changes of the state by an entry, or between two entries; and the first entry at
// which two editions differ.
import microdiff from "microdiff";
import { useEffect, useState } from "react";
import type { Edition } from "@package/payloads.js";

import { DECISIONS, EDITIONS } from "../case/labels.ts";
import type { Answer, Decided } from "../document/messages.ts";
import { holdsAt, useDecided, type Changes } from "../document/use-decided.ts";
import type { Open } from "../document/use-document.ts";
import { Alarm } from "../frame/alarm.tsx";
import { Choice } from "../parts/choice.tsx";
import { Pane } from "../parts/pane.tsx";
import { SeqLink } from "../parts/seq-link.tsx";

interface Change {
  path: string;
  before?: string;
  after?: string;
}

/** The maximal number of differences; a longer list says how many more there are. */
const MOST = 400;

/** The maximal number of characters of a value. */
const MOST_OF_A_VALUE = 600;

/** State differences at the cursor, or between the mark and the cursor. */
export function DiffPane({
  open,
  seq,
  mark,
  decided,
  goTo,
}: {
  open: Open;
  seq: number;
  mark: number | null;
  decided: Changes;
  goTo: (seq: number) => void;
}) {
  const [from, to] =
    mark === null || mark === seq ? [seq - 1, seq] : [Math.min(mark, seq), Math.max(mark, seq)];
  const [answer, setAnswer] = useState<Answer<Change[]> | null>(null);
  useEffect(() => {
    let alive = true;
    void compared(open, from, to).then((found) => alive && setAnswer(found));
    return () => {
      alive = false;
    };
  }, [open, from, to]);
  return (
    <Pane
      title="Diff"
      note={
        <span className="note">
          {mark === null ? `changes by entry #${to}` : `from #${from} to #${to}`}
        </span>
      }
    >
      <Editions open={open} decided={decided} goTo={goTo} />
      {answer === null && <p className="note pad">Comparing</p>}
      {answer !== null && "error" in answer && (
        <Alarm title="The states cannot be compared" error={answer.error} />
      )}
      {answer !== null && "ok" in answer && <Differences changes={answer.ok} />}
    </Pane>
  );
}

function Differences({ changes }: { changes: Change[] }) {
  return (
    <ul className="diff" aria-label="changes of the state">
      {changes.length === 0 && <li className="note">Nothing but the head changed.</li>}
      {changes.slice(0, MOST).map((change) => (
        <li key={change.path}>
          <code className="diff-path">{change.path}</code>
          {change.before !== undefined && (
            <del>
              <span aria-hidden>− </span>
              {change.before}
            </del>
          )}
          {change.after !== undefined && (
            <ins>
              <span aria-hidden>+ </span>
              {change.after}
            </ins>
          )}
        </li>
      ))}
      {changes.length > MOST && (
        <li className="note">and {(changes.length - MOST).toLocaleString("en")} more</li>
      )}
    </ul>
  );
}

/**
 * The changes between the states after two entries. The state before the first entry is empty.
 */
async function compared({ document }: Open, from: number, to: number): Promise<Answer<Change[]>> {
  const before = from === 0 ? { ok: {} } : await document.state(from);
  const after = await document.state(to);
  return "error" in before
    ? before
    : "error" in after
      ? after
      : { ok: differences(Object(before.ok) as object, Object(after.ok) as object) };
}

/** Without the head, which every entry changes. */
function differences(before: object, after: object): Change[] {
  return microdiff(before, after)
    .filter((part) => part.path[0] !== "head" && part.path[0] !== "at")
    .map((part) => ({
      path: part.path.join("."),
      ...("oldValue" in part ? { before: text(part.oldValue) } : {}),
      ...("value" in part ? { after: text(part.value) } : {}),
    }));
}

/** A value that is longer than a line is written on several. */
function text(value: unknown): string {
  const line = JSON.stringify(value) ?? "nothing";
  const written = line.length > 40 ? JSON.stringify(value, null, 1) : line;
  return written.length > MOST_OF_A_VALUE ? `${written.slice(0, MOST_OF_A_VALUE)}…` : written;
}

/** The first entry after which another edition would decide differently. */
function Editions({
  open,
  decided,
  goTo,
}: {
  open: Open;
  decided: Changes;
  goTo: (seq: number) => void;
}) {
  const [other, setOther] = useState<Edition>();
  return (
    <div className="editions">
      <Choice
        says="Compare with edition"
        of={EDITIONS}
        value={other}
        none="no other edition"
        choose={setOther}
      />
      {other !== undefined && (
        <Divergence open={open} decided={decided} edition={other} goTo={goTo} />
      )}
    </div>
  );
}

function Divergence({
  open,
  decided,
  edition,
  goTo,
}: {
  open: Open;
  decided: Changes;
  edition: Edition;
  goTo: (seq: number) => void;
}) {
  const others = useDecided(open, edition);
  const known = Math.min(decided.upTo, others.upTo);
  const parts = Uint32Array.from([...decided.seqs, ...others.seqs]).sort();
  const first = parts.find(
    (seq) => seq <= known && !same(holdsAt(decided, seq), holdsAt(others, seq)),
  );
  if (first === undefined) {
    // Only the result is announced, not the way to it.
    return (
      <p role={known < open.length ? undefined : "status"}>
        {known < open.length
          ? `equal up to #${known.toLocaleString("en")} so far`
          : "decides the same after every entry"}
      </p>
    );
  }
  const [ours, theirs] = [holdsAt(decided, first), holdsAt(others, first)];
  return (
    <p role="status">
      parts ways at <SeqLink seq={first} />: recorded would {said(ours)}, it would {said(theirs)}{" "}
      <button type="button" className="quiet" onClick={() => goTo(first)}>
        Go there
      </button>
    </p>
  );
}

function same(left: Decided | undefined, right: Decided | undefined): boolean {
  return left?.decision === right?.decision && left?.rule === right?.rule;
}

function said(decided: Decided | undefined): string {
  return decided === undefined
    ? "decide nothing"
    : `${DECISIONS[decided.decision]} (${decided.rule})`;
}
