// The cursor: its entry, ways to move it, and the boundary of the question.
import { useEffect, useState } from "react";
import type { Boundary } from "@package/payloads.js";

import { BOUNDARIES } from "../case/labels.ts";
import type { Seen } from "../document/messages.ts";
import { countUpTo, type Changes } from "../document/use-decided.ts";
import type { Open } from "../document/use-document.ts";
import { useRows } from "../document/use-rows.ts";
import { Choice } from "../parts/choice.tsx";
import { Announced } from "../parts/announce.tsx";
import type { Command, Suggest } from "../parts/commands.ts";
import { useCommands } from "../parts/use-commands.ts";

/** The time on each change while playing, in milliseconds. */
const STANDS_MS = 700;

/** The bar, and the commands that do the same. */
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
  const before = decided.seqs[countUpTo(decided, seq - 1) - 1];
  const after = decided.seqs[countUpTo(decided, seq)];
  const [playing, setPlaying] = useState(false);
  const row = useRows(open, [seq]).get(seq);
  const earlier = seq > 1 ? seq - 1 : undefined;
  const later = seq < open.length ? seq + 1 : undefined;

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

  const command = (id: string, name: string, more: Partial<Command>): Command => ({
    id: `cursor.${id}`,
    name,
    group: "Cursor",
    run: () => {},
    ...more,
  });
  const toEntry = (to: number | undefined) => ({
    isAvailable: to !== undefined && to !== seq,
    repeats: true,
    run: () => to !== undefined && goTo(to),
  });
  const toggleMark = () => setMark(mark === seq ? null : seq);
  useCommands(
    [
      command("previous", "Previous entry", { keys: ["ArrowLeft"], ...toEntry(earlier) }),
      command("next", "Next entry", { keys: ["ArrowRight"], ...toEntry(later) }),
      command("previous-change", "Previous change of the decision", {
        keys: ["Shift+ArrowLeft"],
        ...toEntry(before),
      }),
      command("next-change", "Next change of the decision", {
        keys: ["Shift+ArrowRight"],
        ...toEntry(after),
      }),
      command("first", "First entry", { keys: ["Home"], ...toEntry(1) }),
      command("last", "Last entry", { keys: ["End"], ...toEntry(open.length) }),
      command("play", playing ? "Stop playing" : "Play the changes of the decision", {
        keys: [" "],
        run: () => setPlaying(!playing),
      }),
      command("mark", mark === seq ? "Remove the mark" : "Mark this entry for the diff", {
        keys: ["m"],
        run: toggleMark,
      }),
      command("to-mark", "Go to the marked entry", toEntry(mark ?? undefined)),
    ],
    entryNamed(open.length, goTo),
  );
  const isShown = seen !== null && seen.look.seq === seq;

  return (
    <section className="cursor" aria-label="cursor">
      <span className="cursor-buttons">
        <Move label="first entry" says="⇤" to={1} seq={seq} goTo={goTo} />
        <Move label="previous decision" says="«" to={before} seq={seq} goTo={goTo} />
        <Move label="previous entry" says="‹" to={earlier} seq={seq} goTo={goTo} />
        <button
          type="button"
          className="quiet"
          aria-label="play"
          aria-pressed={playing}
          onClick={() => setPlaying(!playing)}
        >
          {playing ? "◼" : "▶"}
        </button>
        <Move label="next entry" says="›" to={later} seq={seq} goTo={goTo} />
        <Move label="next decision" says="»" to={after} seq={seq} goTo={goTo} />
        <Move label="last entry" says="⇥" to={open.length} seq={seq} goTo={goTo} />
      </span>
      <span className="cursor-count">
        <strong>#{seq.toLocaleString("en")}</strong> of {open.length.toLocaleString("en")}
      </span>
      <button type="button" className="quiet" aria-pressed={mark !== null} onClick={toggleMark}>
        {mark === null || mark === seq ? "Mark to compare" : `Marked #${mark}`}
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
      <Announced
        text={
          isShown ? `Entry ${seq} of ${open.length}. ${seen.explanation.sentence}` : "One moment"
        }
      />
    </section>
  );
}

/** The command of an entry whose number was typed: `14`, `#14` or `1,400`. */
function entryNamed(length: number, goTo: (seq: number) => void): Suggest {
  return (typed) => {
    const digits = /^\s*#?([\d,. ]+)$/.exec(typed)?.[1]?.replaceAll(/\D/g, "") ?? "";
    const seq = Number(digits);
    return digits === "" || seq < 1 || seq > length
      ? []
      : [
          {
            id: "cursor.entry",
            name: `Go to entry #${seq.toLocaleString("en")}`,
            group: "Cursor",
            run: () => goTo(seq),
          },
        ];
  };
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
