// Search: a field with a key, and the matches of its words.
import { useRef, type RefObject } from "react";

import type { Command } from "./commands.ts";
import { useCommands } from "./use-commands.ts";

/** A search field that a command focuses. */
export function useSearchField(
  command: Pick<Command, "id" | "name" | "keys">,
): RefObject<HTMLInputElement | null> {
  const field = useRef<HTMLInputElement>(null);
  useCommands([{ group: "Search", ...command, run: () => field.current?.focus() }]);
  return field;
}

/**
 * The items whose text has every word, ignoring case. All items if there are no words.
 */
export function matching<T>(
  of: readonly T[],
  search: string,
  text: (one: T) => string,
): readonly T[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return words.length === 0
    ? of
    : of.filter((one) => words.every((word) => text(one).toLowerCase().includes(word)));
}
