// Search: a field with a key, and the matches of its words.
import { useEffect, useRef, type RefObject } from "react";

import { isTyping } from "../frame/keys.tsx";

/** A search field that this key focuses, unless another field has the focus. */
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
