// The entries: a list that renders only visible rows, with a search; below it the entry at the
// cursor.
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
  type CSSProperties,
  type KeyboardEvent,
} from "react";

import type { Entry } from "../case/trace.ts";
import type { Row } from "../document/rows.ts";
import type { Open } from "../document/use-document.ts";
import { JsonTree } from "../parts/json-tree.tsx";
import { Pane } from "../parts/pane.tsx";
import { matching, useSearchField } from "../parts/search.ts";

const ROW_PX = 24;

/** Entries, oldest first. Entries after the cursor are dimmed. */
export function EntriesPane({
  open,
  seq,
  goTo,
}: {
  open: Open;
  seq: number;
  goTo: (seq: number) => void;
}) {
  const [search, setSearch] = useState("");
  const wanted = useDeferredValue(search);
  const found = useMemo(() => matching(open.rows, wanted, rowText), [open.rows, wanted]);
  const body = useRef<HTMLDivElement>(null);
  const field = useSearchField("f");
  const rows = useVirtualizer({
    count: found.length,
    getScrollElement: () => body.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const at = indexAt(found, seq);

  // Keep the entry at the cursor in view, also if the height of the pane changes.
  const height = rows.scrollRect?.height;
  useEffect(() => {
    if (at >= 0) {
      rows.scrollToIndex(at, { align: "auto" });
    }
  }, [rows, at, height]);

  const walk = (event: KeyboardEvent) => {
    const to = destination(event.key, at, found.length);
    const row = to === null ? undefined : found[to];
    if (row !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      goTo(row.seq);
    }
  };
  const note = (
    <>
      <input
        ref={field}
        type="search"
        placeholder="Search entries ( f )"
        aria-label="search entries"
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      <span className="note">
        {wanted === ""
          ? `${open.length.toLocaleString("en")} entries`
          : `${found.length.toLocaleString("en")} of ${open.length.toLocaleString("en")}`}
      </span>
    </>
  );
  return (
    <div className="entries">
      <Pane title="Entries" note={note} body={body}>
        <div
          className="entry-rows"
          role="listbox"
          aria-label="entries"
          tabIndex={0}
          aria-activedescendant={found[at]?.seq === seq ? `entry-${seq}` : undefined}
          style={
            {
              height: rows.getTotalSize(),
              "--seq-width": `${Math.max(3, String(open.length).length) + 1}ch`,
            } as CSSProperties
          }
          onKeyDown={walk}
        >
          {rows.getVirtualItems().map(({ index, start }) => {
            const row = found[index];
            return (
              row && (
                <div
                  key={row.seq}
                  id={`entry-${row.seq}`}
                  className="entry-row"
                  role="option"
                  aria-selected={row.seq === seq}
                  aria-setsize={found.length}
                  aria-posinset={index + 1}
                  data-future={row.seq > seq}
                  style={{ transform: `translateY(${start}px)` }}
                  onClick={() => goTo(row.seq)}
                >
                  <span className="entry-seq">{row.seq}</span>
                  <span className="entry-at">{row.at.slice(11, 19)}</span>
                  <span className="entry-class">{row.class}</span>
                  <span className="entry-summary" title={row.says}>
                    {row.says}
                  </span>
                </div>
              )
            );
          })}
        </div>
      </Pane>
      <section className="detail" aria-label="entry at the cursor">
        <EntryDetail open={open} seq={seq} />
      </section>
    </div>
  );
}

const rowText = ({ seq, at, class: of, says }: Row) => `#${seq} ${of} ${says} ${at}`;

/** The index of an entry in the results, or of the last one before it. */
function indexAt(rows: readonly Row[], seq: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    [low, high] = (rows[middle]?.seq ?? 0) <= seq ? [middle + 1, high] : [low, middle];
  }
  return low - 1;
}

/** The position that a key leads to; without a current one, an end of the list. */
function destination(key: string, at: number, count: number): number | null {
  const page = 10;
  const steps: Record<string, number> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
  };
  const step = steps[key];
  if (step !== undefined) {
    return at === -1 ? count - 1 : Math.max(0, Math.min(count - 1, at + step));
  }
  return key === "Home" ? 0 : key === "End" ? count - 1 : null;
}

function EntryDetail({ open, seq }: { open: Open; seq: number }) {
  const [line, setLine] = useState("");
  const [copied, setCopied] = useState<"no" | "yes" | "refused">("no");
  useEffect(() => {
    let alive = true;
    setCopied("no");
    void open.document.line(seq).then((stored) => alive && setLine(stored));
    return () => {
      alive = false;
    };
  }, [open, seq]);
  if (line === "") {
    return null;
  }
  const entry = JSON.parse(line) as Entry;
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
        <button
          type="button"
          className="quiet"
          title="Copy the stored line, byte for byte"
          onClick={copy}
        >
          {{ no: "Copy line", yes: "Copied", refused: "Not allowed" }[copied]}
        </button>
      </header>
      <div className="pane-body" tabIndex={0} role="group" aria-label="record">
        <JsonTree value={entry.record} depth={4} label={`record of entry ${entry.seq}`} />
      </div>
    </>
  );
}
