// Searching: a field that a key leads to, and what fits the words in it.
import { useEffect, useRef, type RefObject } from "react";

import { isTyping } from "../frame/keys.tsx";

/** A search field that this key goes to, unless somebody types. */
export function useSearchField(key: string): RefObject<HTMLInputElement | null> {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === key && !isTyping(event)) {
        event.preventDefault();
        field.current?.focus();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [key]);
  return field;
}

/**
 * Those whose text has every word, in any case of letters; all of them where there are no words.
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
