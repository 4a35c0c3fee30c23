// The listener of keys, the list of them that `?` opens, and the palette of all commands. All three
// read the registry of commands.
import { lazy, Suspense, useState } from "react";

import { available, grouped, keyName, type Command } from "../parts/commands.ts";
import { focusOn, PARTS, type Part } from "../parts/focus.ts";
import { Modal, ModalButtons } from "../parts/modal.tsx";
import { useAll, useCommands, useKeyListener } from "../parts/use-commands.ts";

const Palette = lazy(() => import("./palette.tsx"));

/** The parts to go to, also by buttons that only the keyboard reaches. */
const GO_TO: Part[] = ["sentence", "panes", "entries", "list"];

/** The keys of the page. It is there once, beside everything else. */
export function Keys() {
  useKeyListener();
  const [shown, setShown] = useState<"nothing" | "keys" | "palette">("nothing");
  const [wasPaletteShown, setPaletteShown] = useState(false);
  const showPalette = () => {
    setPaletteShown(true);
    setShown("palette");
  };
  useCommands([
    {
      id: "page.palette",
      name: "Find a command",
      group: "Page",
      keys: ["$mod+k"],
      inFields: true,
      run: showPalette,
    },
    {
      id: "page.keys",
      name: "Show these keys",
      group: "Page",
      keys: ["[Shift]+?"],
      run: () => setShown("keys"),
    },
    ...GO_TO.map((part): Command => ({
      id: `go.${part}`,
      name: `Go to ${PARTS[part].name}`,
      group: "Panes",
      run: () => focusOn(part),
    })),
  ]);
  const change = (what: "keys" | "palette") => (isOpen: boolean) =>
    setShown(isOpen ? what : "nothing");
  return (
    <>
      <KeyList isOpen={shown === "keys"} setOpen={change("keys")} />
      {wasPaletteShown && (
        <Suspense>
          <Palette isOpen={shown === "palette"} setOpen={change("palette")} />
        </Suspense>
      )}
    </>
  );
}

function KeyList({ isOpen, setOpen }: { isOpen: boolean; setOpen: (isOpen: boolean) => void }) {
  return (
    <Modal title="Keys" isOpen={isOpen} setOpen={setOpen}>
      <KeyGroups />
      <ModalButtons />
    </Modal>
  );
}

function KeyGroups() {
  const withKeys = useAll().filter(({ keys }) => keys !== undefined);
  return (
    <div className="keys">
      {grouped(withKeys).map(([group, commands]) => (
        <section key={group} aria-label={group}>
          <h3>{group}</h3>
          <dl>
            {commands.map(({ id, name, keys = [] }) => (
              <div key={id}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{keyName(key)}</kbd>
                  ))}
                </dt>
                <dd>{name}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}

/** Buttons that lead to the parts of the page. They appear when the keyboard reaches them. */
export function SkipLinks() {
  return (
    <nav className="skip-links" aria-label="parts of this page">
      {GO_TO.filter((part) => part !== "list").map((part) => (
        // Links would need the fragment of the address, which names a document.
        <button key={part} type="button" onClick={() => focusOn(part)}>
          Go to {PARTS[part].name}
        </button>
      ))}
    </nav>
  );
}

/** A button for the palette, for those who have no keyboard. */
export function PaletteButton() {
  const open = () =>
    available()
      .find(({ id }) => id === "page.palette")
      ?.run();
  return (
    <button type="button" className="quiet" aria-haspopup="dialog" onClick={open}>
      Commands <kbd>{keyName("$mod+k")}</kbd>
    </button>
  );
}
