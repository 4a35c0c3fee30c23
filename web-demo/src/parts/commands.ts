// The registry of commands. A component registers what can be done in it, with `useCommands`. The
// listener of keys, the help and the palette read the registry, so that they always agree.
import { matchKeybindingPress, parseKeybinding } from "tinykeys";

/** Something that a person can do, by key or from the palette. */
export interface Command {
  /** Unique in the page, such as `cursor.next`. */
  id: string;
  /** What it does, as people read it. */
  name: string;
  /** Its heading in the help and in the palette. */
  group: string;
  /** Keys as tinykeys writes them: `Shift+ArrowLeft`, `[Shift]+?`, `$mod+k`. */
  keys?: readonly string[] | undefined;
  /** Whether it can be done now; by default it can. */
  isAvailable?: boolean | undefined;
  /** Whether it is done again while its key is held. */
  repeats?: boolean | undefined;
  /** Whether its key also counts while a field has the focus. */
  inFields?: boolean | undefined;
  run: () => void;
}

/** Commands that depend on what is typed into the palette, such as an entry by its number. */
export type Suggest = (typed: string) => readonly Command[];

/** What one component has registered. */
export interface Registered {
  commands: readonly Command[];
  suggest: Suggest;
}

/** Suggests nothing. */
export const NO_SUGGESTIONS: Suggest = () => [];

const registered = new Set<Registered>();
const listeners = new Set<() => void>();
let version = 0;

/** Adds what a component can do. Returns the function that removes it. */
export function register(what: Registered): () => void {
  registered.add(what);
  changed();
  return () => {
    registered.delete(what);
    changed();
  };
}

/** Tells the listeners that something that is registered has changed. */
export function changed(): void {
  version += 1;
  listeners.forEach((hear) => hear());
}

/** Calls back after changes. Returns the function that ends it. */
export function onChange(hear: () => void): () => void {
  listeners.add(hear);
  return () => listeners.delete(hear);
}

/** A number that changes with the registry. */
export const versionNow = () => version;

/** All commands, also those that cannot be done now. */
export function all(): Command[] {
  return [...registered].flatMap(({ commands }) => commands);
}

/** All commands that can be done now. */
export function available(): Command[] {
  return all().filter(({ isAvailable }) => isAvailable !== false);
}

/** What is suggested for a text. */
export function suggested(typed: string): Command[] {
  return [...registered].flatMap(({ suggest }) => suggest(typed));
}

/** Commands in groups, in the order in which the groups were met. */
export function grouped(commands: readonly Command[]): [group: string, commands: Command[]][] {
  const groups = new Map<string, Command[]>();
  for (const command of commands) {
    groups.set(command.group, [...(groups.get(command.group) ?? []), command]);
  }
  return [...groups].toSorted(([left], [right]) => rank(left) - rank(right));
}

/** The groups that most people need come first; the others follow as they come. */
const FIRST = ["Cursor", "Timeline", "Open", "Search", "Panes", "Page"];
const rank = (group: string) => (FIRST.includes(group) ? FIRST.indexOf(group) : FIRST.length);

/** What the focused element takes for itself. */
export type Taken =
  | "nothing"
  /** Moving keys, as a tree does. */
  | "moves"
  /** The keys that press it. */
  | "presses"
  /** All keys but those that count in fields. */
  | "letters"
  /** All keys, as a dialog does. */
  | "everything";

const MOVES = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", " "]);
const PRESSES = new Set([" ", "Enter"]);

/** The command of a key, if the focused element does not take the key for itself. */
export function commandFor(
  event: KeyboardEvent,
  commands: readonly Command[],
  taken: Taken,
): Command | undefined {
  if (
    taken === "everything" ||
    (taken === "moves" && MOVES.has(event.key)) ||
    (taken === "presses" && PRESSES.has(event.key))
  ) {
    return undefined;
  }
  return commands.find(
    ({ keys = [], inFields = false, repeats = false }) =>
      (taken !== "letters" || inFields) &&
      (!event.repeat || repeats) &&
      keys.some((key) => isPressed(event, key)),
  );
}

function isPressed(event: KeyboardEvent, key: string): boolean {
  // tinykeys separates the presses of a sequence with a space.
  if (key === " ") {
    return (
      event.key === " " && !["Control", "Alt", "Meta"].some((of) => event.getModifierState(of))
    );
  }
  const [press, ...more] = parseKeybinding(key);
  return press !== undefined && more.length === 0 && matchKeybindingPress(event, press);
}

const IS_APPLE = typeof navigator === "object" && /Mac|iPhone|iPad/.test(navigator.platform ?? "");

const NAMES: Record<string, string> = {
  $mod: IS_APPLE ? "⌘" : "Ctrl",
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  " ": "Space",
  "-": "−",
};

/** A key as people read it. A modifier that may be held is not shown. */
export function keyName(key: string): string {
  return key
    .replaceAll(/\[\w+\]\+/g, "")
    .split(/(?<=\w)\+/)
    .map((part) => NAMES[part] ?? (part.length === 1 ? part.toUpperCase() : part))
    .join(" ");
}
