// Moves the focus when a document has opened.
import { useEffect, useRef } from "react";

import { focusOn } from "./focus.ts";

/** Elements in which a person types or goes on choosing. They keep the focus. */
const KEEPS = [
  "input",
  "textarea",
  "select",
  "[contenteditable]",
  "[role=dialog]",
  "[role=menu]",
  "[role=tree]",
  ".live",
].join();

/**
 * Moves the focus to the sentence of a document that has opened. It stays for the first document of
 * the page, while a person types, and while a person walks a list with the arrow keys.
 */
export function useArrival(opened: number | null) {
  const before = useRef<number | null>(null);
  const walks = useRef(false);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      walks.current = event.key === "ArrowUp" || event.key === "ArrowDown";
    };
    const point = () => {
      walks.current = false;
    };
    window.addEventListener("keydown", press, true);
    window.addEventListener("pointerdown", point, true);
    return () => {
      window.removeEventListener("keydown", press, true);
      window.removeEventListener("pointerdown", point, true);
    };
  }, []);
  useEffect(() => {
    const isFirst = before.current === null;
    const isSame = before.current === opened;
    before.current = opened;
    if (isFirst || isSame || opened === null || walks.current) {
      return;
    }
    if (document.activeElement?.closest(KEEPS) == null) {
      focusOn("sentence");
    }
  }, [opened]);
}
