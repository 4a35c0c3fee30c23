// The keys, in a dialog that `?` opens.
import { Dialog } from "radix-ui";
import { useEffect, useState } from "react";

const KEYS = [
  ["←  →", "previous entry, next entry"],
  ["Shift ←  →", "previous change of the decision, next change"],
  ["Home  End", "first entry, last entry"],
  ["Space", "play, stop"],
  ["M", "mark this entry for the diff"],
  ["/", "search the cases"],
  ["F", "search the entries"],
  ["+  −  0", "zoom the timeline, show all of it"],
  ["?", "these keys"],
] as const;

/** The dialog. */
export function Keys() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "?" && !isTyping(event)) {
        setOpen(true);
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return (
    <Dialog.Root open={open} onOpenChange={setOpen}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content className="dialog" aria-describedby={undefined}>
          <Dialog.Title>Keys</Dialog.Title>
          <dl className="keys">
            {KEYS.map(([key, does]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <Dialog.Close className="quiet">Close</Dialog.Close>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/**
 * Elements that take all keys while they have the focus, and elements that take only moving keys.
 */
const [TYPED, WALKED] = [
  "input, textarea, select, [role=dialog], [role=menu]",
  "[role=tree], [role=tablist]",
];
const MOVES = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", " "]);

/** Whether a key belongs to the focused element instead of the page. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target instanceof Element ? event.target : null;
  const taken =
    target?.closest(TYPED) != null || (MOVES.has(event.key) && target?.closest(WALKED) != null);
  return taken || event.ctrlKey || event.metaKey || event.altKey;
}
