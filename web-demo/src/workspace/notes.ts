// Notes as a file beside a ledger.
import type { Note } from "./keeping.ts";

/** The file in an exported archive. */
export const NOTES_FILE = "notes.json";

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
