// The cursor: its entry, ways to move it, and the boundary of the question.
import { useEffect, useState } from "react";
import type { Boundary } from "@package/payloads.js";

import { BOUNDARIES } from "../case/labels.ts";
import type { Seen } from "../document/messages.ts";
import type { Changes } from "../document/use-decided.ts";
import type { Open } from "../document/use-document.ts";
import { Choice } from "../parts/choice.tsx";
import { isTyping } from "./keys.tsx";

/** The time on each change while playing, in milliseconds. */
const STANDS_MS = 700;

/** The bar, and the keys that do the same. */
export function CursorBar(props: {
  open: Open;
  seq: number;
  goTo: (seq: number) => void;
  mark: number | null;
  setMark: (seq: number | null) => void;
  decided: Changes;
  seen: Seen | null;
  boundary: Boundary | undefined;
  setBoundary: (boundary: Boundary | undefined) => void;
}) {
  const { open, seq, goTo, mark, setMark, decided, seen, boundary, setBoundary } = props;
  const before = decided.changes.findLast((change) => change.seq < seq)?.seq;
  const after = decided.changes.find((change) => change.seq > seq)?.seq;
  const [playing, setPlaying] = useState(false);
  const row = open.rows[seq - 1];

  useEffect(() => {
    if (!playing) {
      return;
    }
    if (after === undefined) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(() => goTo(after), STANDS_MS);
    return () => clearTimeout(timer);
  }, [playing, after, goTo]);

  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event)) {
        return;
      }
      const moves: Record<string, () => void> = {
        ArrowLeft: () => (event.shiftKey ? before !== undefined && goTo(before) : goTo(seq - 1)),
        ArrowRight: () => (event.shiftKey ? after !== undefined && goTo(after) : goTo(seq + 1)),
        Home: () => goTo(1),
        End: () => goTo(open.length),
        " ": () => setPlaying((was) => !was),
        m: () => setMark(mark === seq ? null : seq),
      };
      const move = moves[event.key];
      if (move !== undefined && !(event.key === " " && event.target instanceof HTMLButtonElement)) {
        event.preventDefault();
        move();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [seq, before, after, mark, goTo, setMark, open.length]);

  return (
    <section className="cursor" aria-label="cursor">
      <span className="cursor-buttons">
        <Move label="first entry" says="⇤" to={1} seq={seq} goTo={goTo} />
        <Move label="previous decision" says="«" to={before} seq={seq} goTo={goTo} />
        <Move label="previous entry" says="‹" to={seq - 1 || undefined} seq={seq} goTo={goTo} />
        <button
          type="button"
          className="quiet"
          aria-label="play"
          aria-pressed={playing}
          onClick={() => setPlaying(!playing)}
        >
          {playing ? "◼" : "▶"}
        </button>
        <Move
          label="next entry"
          says="›"
          to={seq < open.length ? seq + 1 : undefined}
          seq={seq}
          goTo={goTo}
        />
        <Move label="next decision" says="»" to={after} seq={seq} goTo={goTo} />
        <Move label="last entry" says="⇥" to={open.length} seq={seq} goTo={goTo} />
      </span>
      <span className="cursor-count">
        <strong>#{seq.toLocaleString("en")}</strong> of {open.length.toLocaleString("en")}
      </span>
      <button
        type="button"
        className="quiet"
        aria-pressed={mark !== null}
        onClick={() => setMark(mark === seq ? null : seq)}
      >
        {mark === null || mark === seq ? "Mark" : `Marked #${mark}`}
      </button>
      <span className="cursor-says" title={row?.says}>
        {row !== undefined && (
          <>
            <code>{row.class}</code> {row.says}
          </>
        )}
      </span>
      <Choice
        className="cursor-boundary"
        says="Boundary"
        of={BOUNDARIES}
        value={boundary}
        none={`next: ${seen !== null && boundary === undefined ? BOUNDARIES[seen.boundary] : "the next boundary"}`}
        choose={setBoundary}
      />
    </section>
  );
}

function Move({
  label,
  says,
  to,
  seq,
  goTo,
}: {
  label: string;
  says: string;
  to: number | undefined;
  seq: number;
  goTo: (seq: number) => void;
}) {
  return (
    <button
      type="button"
      className="quiet"
      aria-label={label}
      title={label}
      disabled={to === undefined || to === seq}
      onClick={() => to !== undefined && goTo(to)}
    >
      {says}
    </button>
  );
}
