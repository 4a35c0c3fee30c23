// Notes and bookmarks at entries. They go along with the exported file.
import { useEffect, useRef, useState, type FormEvent } from "react";

import { Pane } from "../parts/pane.tsx";
import { SeqLink } from "../parts/seq-link.tsx";
import { visible } from "../parts/visible.ts";
import type { Note } from "../workspace/keeping.ts";

/** The notes of a document, in the order of their entries. */
export function NotesPane({
  notes,
  seq,
  annotate,
}: {
  notes: readonly Note[];
  seq: number;
  annotate: (notes: Note[]) => void;
}) {
  const here = notes.find((note) => note.seq === seq);
  const [text, setText] = useState(here?.text ?? "");
  const field = useRef<HTMLTextAreaElement>(null);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => setText(here?.text ?? ""), [seq, here?.text]);
  const others = notes.filter((note) => note.seq !== seq);
  const write = (event: FormEvent) => {
    event.preventDefault();
    annotate([...others, { seq, text: text.trim() }].sort((left, right) => left.seq - right.seq));
  };
  const remove = (note: Note, index: number) => {
    annotate(notes.filter((other) => other !== note));
    // The focus goes to the neighbour of what is removed.
    requestAnimationFrame(() => {
      const left = list.current?.querySelectorAll<HTMLElement>(".note-remove") ?? [];
      (left[Math.min(index, left.length - 1)] ?? field.current)?.focus();
    });
  };
  return (
    <Pane
      title="Notes"
      note={<span className="note">kept here, and exported with the ledger and in a test</span>}
    >
      <form className="note-form" onSubmit={write}>
        <label>
          Note at #{seq}
          <textarea
            ref={field}
            rows={2}
            value={text}
            placeholder="Without a text it is a bookmark"
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <button type="submit" className="quiet" disabled={here?.text === text.trim()}>
          {here === undefined ? (text.trim() === "" ? "Bookmark" : "Add note") : "Change"}
        </button>
      </form>
      <ul className="notes-list" aria-label="notes" ref={list}>
        {notes.map((note, index) => (
          <li key={note.seq}>
            <SeqLink seq={note.seq} />{" "}
            <span className="note-text">{visible(note.text) || "bookmark"}</span>
            <button
              type="button"
              className="quiet note-remove"
              aria-label={`remove the note at entry ${note.seq}`}
              onClick={() => remove(note, index)}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
    </Pane>
  );
}
