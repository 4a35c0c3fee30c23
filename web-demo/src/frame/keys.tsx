// The keys, in a dialog that `?` opens.
import { Dialog } from "radix-ui";
import { useEffect, useState } from "react";

const KEYS = [
  ["←  →", "an entry back, an entry on"],
  ["Shift ←  →", "to the decision that changed before, after"],
  ["Home  End", "the first entry, the last"],
  ["Space", "play, stop"],
  ["M", "mark this entry, to compare with it"],
  ["/", "search the cases"],
  ["F", "search the entries"],
  ["+  −  0", "zoom the timeline, see all of it"],
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

/** What takes all keys while it has the focus, and what takes those that move. */
const [TYPED, WALKED] = [
  "input, textarea, select, [role=dialog], [role=menu]",
  "[role=tree], [role=tablist]",
];
const MOVES = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", " "]);

/** Whether a key belongs to what has the focus, and not to the page. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target instanceof Element ? event.target : null;
  const taken =
    target?.closest(TYPED) != null || (MOVES.has(event.key) && target?.closest(WALKED) != null);
  return taken || event.ctrlKey || event.metaKey || event.altKey;
}
