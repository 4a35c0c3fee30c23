// Notes as a file beside a ledger.
import type { Row } from "../document/rows.ts";
import type { Note } from "./keeping.ts";

/** The file in an exported archive. */
export const NOTES_FILE = "notes.json";

/** The file in an exported test, for people. */
export const TOLD_NOTES_FILE = "notes.md";

/** The notes as a text that names their entries, because a test has these in another order. */
export function toldIn(name: string, notes: readonly Note[], rows: readonly Row[]): string {
  const told = notes.map(({ seq, text }) => {
    const row = rows.find((one) => one.seq === seq);
    const entry = row === undefined ? "" : ` (${row.class}, ${row.at}): ${row.says}`;
    return `## Entry ${seq}${entry}\n\n${text === "" ? "A bookmark." : text}\n`;
  });
  return [`# Notes at ${name}\n\nThe numbers are those of the ledger.\n`, ...told].join("\n");
}

/** The text of the file. */
export function writtenNotes(notes: readonly Note[]): string {
  return `${JSON.stringify({ notes }, null, 2)}\n`;
}

/**
 * Reads the file.
 *
 * @throws If it has no list of notes.
 */
export function readNotes(text: string): Note[] {
  const read: unknown = JSON.parse(text);
  const notes = (Object(read) as { notes?: unknown }).notes;
  const isNote = (note: unknown): note is Note => {
    const { seq, text: says } = Object(note) as Partial<Note>;
    return Number.isSafeInteger(seq) && Number(seq) > 0 && typeof says === "string";
  };
  if (!Array.isArray(notes) || !notes.every(isNote)) {
    throw new Error(
      `${NOTES_FILE} is not \`{ "notes": [{ "seq": 1, "text": "..." }] }\`: leave it out to open the rest`,
    );
  }
  return notes.map(({ seq, text: says }) => ({ seq, text: says }));
}
