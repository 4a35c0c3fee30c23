// The list of sources: files of this computer, and the bundled cases with a search.
import {
  useDeferredValue,
  useRef,
  useState,
  type ChangeEvent,
  type KeyboardEvent,
  type ReactNode,
} from "react";

import type { CaseLine } from "../case/bundle.ts";
import { chosen as chosenFiles, type Files } from "../document/files.ts";
import type { Open } from "../document/use-document.ts";
import { PaletteButton } from "./keys.tsx";
import { matching, useSearchField } from "../parts/search.ts";
import { useCommands } from "../parts/use-commands.ts";

const GROUPS = [
  { kind: "story", title: "Examples: stories" },
  { kind: "fixture", title: "Examples: fixtures" },
] as const;

/** All cases; the open one is marked. The keys up and down open the one before and after. */
export function CaseList(props: {
  cases: CaseLine[] | null;
  chosen: string | null;
  choose: (name: string) => void;
  openFiles: (name: string, files: Files) => void;
  fail: (name: string, error: unknown) => void;
  open: Open | null;
  /** The agents of the server that match a search; null if no server handed out this page. */
  served: ((search: string) => ReactNode) | null;
  /** The documents of the workspace that match a search. */
  documents: (search: string) => ReactNode;
  /** Whether there is something of one's own, beside which the examples are folded away. */
  hasOwn: boolean;
}) {
  const { cases, chosen, choose, open } = props;
  const [search, setSearch] = useState("");
  const found = matching(
    cases ?? [],
    useDeferredValue(search),
    ({ case: name, shows }) => `${name} ${words(name)} ${shows}`,
  );
  const isExample = (cases ?? []).some((line) => line.case === chosen);
  const field = useSearchField({
    id: "cases.search",
    name: "Search the cases",
    keys: ["[Shift]+/"],
  });
  useCommands(
    (cases ?? []).map((line) => ({
      id: `case.${line.case}`,
      name: `Open ${words(line.case)}`,
      group: line.kind === "story" ? "Stories" : "Fixtures",
      run: () => choose(line.case),
    })),
  );

  const walk = (event: KeyboardEvent<HTMLElement>) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by === 0) {
      return;
    }
    event.preventDefault();
    const ordered = GROUPS.flatMap(({ kind }) => found.filter((line) => line.kind === kind));
    const at = ordered.findIndex((line) => line.case === chosen);
    const next = ordered[at === -1 ? 0 : Math.max(0, Math.min(ordered.length - 1, at + by))];
    if (next !== undefined) {
      choose(next.case);
      event.currentTarget
        .querySelector<HTMLElement>(`[data-case="${CSS.escape(next.case)}"]`)
        ?.focus();
    }
  };

  return (
    <nav className="cases" aria-label="cases" onKeyDown={walk}>
      <header className="cases-head">
        <h2>Wakeful workbench</h2>
        <OpenButtons openFiles={props.openFiles} fail={props.fail} />
        <PaletteButton />
        <input
          ref={field}
          type="search"
          placeholder="Search cases ( / )"
          aria-label="search cases"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      </header>
      <div className="cases-body">
        {props.documents(search)}
        {props.served?.(search)}
        {cases === null && <p className="note pad">Loading the examples</p>}
        {cases !== null && found.length === 0 && (
          <p className="note pad">
            {cases.length === 0 ? "The examples are missing." : "No case matches."}
          </p>
        )}
        {GROUPS.map(({ kind, title }) => (
          <CaseGroup
            key={kind}
            title={title}
            lines={found.filter((line) => line.kind === kind)}
            chosen={chosen}
            choose={choose}
            isFolded={props.hasOwn && !isExample && search === ""}
          />
        ))}
      </div>
      <footer className="cases-foot note">
        {open === null
          ? "\u00a0"
          : `Opened in ${open.took_ms.toFixed(0)} ms. ${
              props.served === null
                ? "Nothing leaves this page."
                : "What you open stays in this page."
            }`}
      </footer>
    </nav>
  );
}

/** Two ways to choose a file; dropping and pasting work anywhere on the page. */
function OpenButtons({
  openFiles,
  fail,
}: {
  openFiles: (name: string, files: Files) => void;
  fail: (name: string, error: unknown) => void;
}) {
  const file = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  useCommands([
    { id: "open.file", name: "Open a file", group: "Open", run: () => file.current?.click() },
    { id: "open.folder", name: "Open a folder", group: "Open", run: () => folder.current?.click() },
  ]);
  const picked = (event: ChangeEvent<HTMLInputElement>) => {
    // A copy, because resetting the field empties its list.
    const list = [...(event.target.files ?? [])];
    if (list.length > 0) {
      chosenFiles(list).then(
        ({ name, files }) => openFiles(name, files),
        (error: unknown) => fail("chosen files", error),
      );
    }
    event.target.value = "";
  };
  return (
    <div className="open-buttons">
      <button
        type="button"
        className="quiet"
        title="A ledger (sqlite with its -wal, or jsonl), a story (toml or json) or a fixture (zip); files can also be dropped or pasted"
        onClick={() => file.current?.click()}
      >
        Open file
      </button>
      <button
        type="button"
        className="quiet"
        title="A fixture folder or a runtime's data folder"
        onClick={() => folder.current?.click()}
      >
        Open folder
      </button>
      <input ref={file} type="file" multiple hidden aria-label="file to open" onChange={picked} />
      <input
        ref={folder}
        type="file"
        hidden
        aria-label="folder to open"
        {...{ webkitdirectory: "" }}
        onChange={picked}
      />
    </div>
  );
}

function CaseGroup(props: {
  title: string;
  lines: CaseLine[];
  chosen: string | null;
  choose: (name: string) => void;
  /** Whether it is folded away until a person unfolds it. */
  isFolded: boolean;
}) {
  const [unfolded, setUnfolded] = useState(false);
  if (props.lines.length === 0) {
    return null;
  }
  const isOpen = unfolded || !props.isFolded;
  return (
    <details
      className="case-group"
      open={isOpen}
      onToggle={({ currentTarget }) =>
        // Else the page itself has folded it.
        currentTarget.open !== isOpen && setUnfolded(currentTarget.open)
      }
    >
      <summary>
        <h2>
          {props.title} <span className="note">{props.lines.length}</span>
        </h2>
      </summary>
      <ul>
        {props.lines.map((line) => (
          <li key={line.case}>
            <button
              type="button"
              className="case"
              data-case={line.case}
              title={line.shows}
              aria-current={line.case === props.chosen}
              onClick={() => props.choose(line.case)}
            >
              {words(line.case)}
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** A case's name is a sentence with underscores. */
function words(name: string): string {
  return name.replaceAll("_", " ");
}
