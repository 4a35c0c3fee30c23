// The entries up to the step: a list that renders only what is seen, and the selected entry below it.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useContext, useEffect, useRef, useState, type KeyboardEvent } from "react";

import { entrySummary } from "../case/entry-summary.ts";
import type { Entry } from "../case/trace.ts";
import { JsonTree } from "../parts/json-tree.tsx";
import { Pane } from "../parts/pane.tsx";
import { SelectEntry } from "../parts/seq-link.tsx";

const ROW_PX = 24;

/** Entries, oldest first; those that the step wrote are marked. `lines` are all entries as the ledger keeps them, by position. */
export function EntriesPane({ entries, newFrom, lines }: { entries: Entry[]; newFrom: number; lines: string[] }) {
  const { selected, select } = useContext(SelectEntry);
  const body = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({ count: entries.length, getScrollElement: () => body.current, estimateSize: () => ROW_PX, overscan: 12 });
  const at = entries.findIndex((entry) => entry.seq === selected);
  const shown = entries[at];

  // The selected entry comes into view; without one, the newest does.
  const wanted = at === -1 ? entries.length - 1 : at;
  useEffect(() => {
    if (wanted >= 0) {
      rows.scrollToIndex(wanted, { align: "auto" });
    }
  }, [rows, wanted]);

  const walk = (event: KeyboardEvent) => {
    const to = destination(event.key, at, entries.length);
    const entry = to === null ? undefined : entries[to];
    if (entry !== undefined) {
      event.preventDefault();
      select(entry.seq);
    }
  };

  const added = entries.length - newFrom;
  return (
    <div className="entries">
      <Pane title="Entries" note={`${entries.length}${added > 0 ? `, ${added} from this step` : ", none from this step"}`} body={body}>
        <div
          className="entry-rows"
          role="listbox"
          aria-label="entries"
          tabIndex={0}
          aria-activedescendant={shown === undefined ? undefined : `entry-${shown.seq}`}
          style={{ height: rows.getTotalSize() }}
          onKeyDown={walk}
        >
          {rows.getVirtualItems().map(({ index, start }) => {
            const entry = entries[index];
            return (
              entry && (
                <div
                  key={entry.seq}
                  id={`entry-${entry.seq}`}
                  className="entry-row"
                  role="option"
                  aria-selected={index === at}
                  aria-setsize={entries.length}
                  aria-posinset={index + 1}
                  data-new={index >= newFrom}
                  style={{ transform: `translateY(${start}px)` }}
                  onClick={() => select(entry.seq)}
                >
                  <span className="entry-seq">{entry.seq}</span>
                  <span className="entry-at">{entry.at.slice(11, 19)}</span>
                  <span className="entry-class">{entry.class}</span>
                  <span className="entry-summary" title={entrySummary(entry)}>
                    {entrySummary(entry)}
                  </span>
                </div>
              )
            );
          })}
        </div>
      </Pane>
      <section className="detail" aria-label="selected entry">
        {shown === undefined ? (
          <p className="note pad">Select an entry to see its record.</p>
        ) : (
          <EntryDetail key={shown.seq} entry={shown} line={lines[shown.seq - 1] ?? ""} />
        )}
      </section>
    </div>
  );
}

/** Where a key leads from a position; without one, to an end. */
function destination(key: string, at: number, count: number): number | null {
  const page = 10;
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
  const step = steps[key];
  if (step !== undefined) {
    return at === -1 ? count - 1 : Math.max(0, Math.min(count - 1, at + step));
  }
  return key === "Home" ? 0 : key === "End" ? count - 1 : null;
}

function EntryDetail({ entry, line }: { entry: Entry; line: string }) {
  const [copied, setCopied] = useState<"no" | "yes" | "refused">("no");
  const copy = () => {
    navigator.clipboard.writeText(line).then(
      () => setCopied("yes"),
      () => setCopied("refused"),
    );
  };
  return (
    <>
      <header className="pane-head">
        <h2>
          #{entry.seq} {entry.class}
        </h2>
        <code className="note chain" title={entry.chain}>
          {entry.chain.slice(0, 16)}
        </code>
        <button type="button" className="quiet" title="Copy the stored line, byte for byte" onClick={copy}>
          {{ no: "Copy line", yes: "Copied", refused: "Not allowed" }[copied]}
        </button>
      </header>
      <div className="pane-body">
        <JsonTree value={entry.record} depth={4} label={`record of entry ${entry.seq}`} />
      </div>
    </>
  );
}
