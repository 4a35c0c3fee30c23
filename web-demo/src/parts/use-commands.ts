// Registers commands from components, and hands keys to them.
import { useLayoutEffect, useState, useSyncExternalStore } from "react";

import {
  all,
  available,
  changed,
  commandFor,
  NO_SUGGESTIONS,
  onChange,
  register,
  versionNow,
  type Command,
  type Registered,
  type Suggest,
  type Taken,
} from "./commands.ts";

/**
 * Registers commands while the component is there. `suggest` adds commands that depend on what is
 * typed into the palette. Neither needs to be the same object in the next rendering.
 */
export function useCommands(commands: readonly Command[], suggest: Suggest = NO_SUGGESTIONS) {
  const [own] = useState<Registered>(() => ({ commands, suggest }));
  useLayoutEffect(() => register(own), [own]);
  // Before the next key, so that a held key never acts on an earlier rendering.
  useLayoutEffect(() => {
    Object.assign(own, { commands, suggest });
    changed();
  });
}

/**
 * All commands, also those that cannot be done now. A component that registers commands must not
 * call it: it would render without end.
 */
export function useAll(): Command[] {
  useSyncExternalStore(onChange, versionNow);
  return all();
}

/** The one listener of keys. */
export function useKeyListener() {
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) {
        return;
      }
      const command = commandFor(event, available(), takenBy(event.target));
      if (command !== undefined) {
        event.preventDefault();
        command.run();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}

/** The elements that take keys, the greediest first. */
const TAKERS: [Taken, string][] = [
  ["everything", "[role=dialog], [role=alertdialog], [role=menu]"],
  ["letters", "input, textarea, select, [contenteditable]"],
  ["moves", "[role=tree], [role=tablist]"],
  ["presses", "button, summary, a[href], [role=button]"],
];

function takenBy(target: EventTarget | null): Taken {
  const found = TAKERS.find(
    ([, selector]) => target instanceof Element && target.closest(selector) !== null,
  );
  return found?.[0] ?? "nothing";
}
