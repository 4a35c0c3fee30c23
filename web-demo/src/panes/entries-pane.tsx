// The entries: a list that renders only visible rows, with a search; below it the entry at the
// cursor.
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  memo,
  useEffect,
  useMemo,
  useRef,
  useState,
  type CSSProperties,
  type KeyboardEvent,
} from "react";

import type { Entry } from "../case/trace.ts";
import type { Open } from "../document/use-document.ts";
import { useFound, useIndexed, useRows } from "../document/use-rows.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { JsonTree } from "../parts/json-tree.tsx";
import { Pane } from "../parts/pane.tsx";
import { useSearchField } from "../parts/search.ts";
import { beginAround, MOST_ROWS } from "./scrolled.ts";

const ROW_PX = 24;

/** The rows that are asked for at once, so that few moves of the cursor have to ask. */
const ASKED = 64;

/** Entries, oldest first. Entries after the cursor are dimmed. */
export const EntriesPane = memo(function EntriesPane({
  open,
  seq,
  goTo,
  noted,
}: {
  open: Open;
  seq: number;
  goTo: (seq: number) => void;
  /** The entries with a note. */
  noted: ReadonlySet<number>;
}) {
  const [search, setSearch] = useState("");
  const found = useFound(open, search);
  const indexed = useIndexed(open.index);
  const [byTime, setByTime] = useState(open.recorded);
  const list = useMemo(
    () => listOf(open, found?.seqs ?? null, byTime ? indexed : null),
    [open, found, byTime, indexed],
  );
  const body = useRef<HTMLDivElement>(null);
  const field = useSearchField({
    id: "entries.search",
    name: "Search the entries",
    keys: ["f"],
  });
  const at = list.indexOf(seq);
  const from = beginAround(at, list.length);
  const count = Math.min(MOST_ROWS, list.length - from);
  const rows = useVirtualizer({
    count,
    getScrollElement: () => body.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    // It begins at the cursor, because an old entry of a file is read together with all others.
    initialOffset: () => Math.max(0, at - from) * ROW_PX,
    // Else each move of the list is drawn by itself, beside what else has changed.
    useFlushSync: false,
  });
  const items = rows.getVirtualItems();
  const first = Math.floor((items[0]?.index ?? 0) / ASKED);
  const last = Math.floor((items.at(-1)?.index ?? -1) / ASKED);
  const seqs = useMemo(() => {
    const begin = from + first * ASKED;
    const end = Math.min(list.length, from + (last + 1) * ASKED);
    return Array.from({ length: Math.max(0, end - begin) }, (_, at) => list.seqAt(begin + at));
  }, [list, from, first, last]);
  const known = useRows(open, seqs);

  // Keep the entry at the cursor in view, also if the height of the pane changes.
  const height = rows.scrollRect?.height;
  useEffect(() => {
    // All rows have one height. To ask the page for sizes would lay it out once more.
    const to = (at - from) * ROW_PX;
    const top = rows.scrollOffset ?? 0;
    if (at < 0 || height === undefined || body.current === null) {
      return;
    }
    if (to < top) {
      body.current.scrollTop = to;
    } else if (to + ROW_PX > top + height) {
      body.current.scrollTop = to + ROW_PX - height;
    }
  }, [rows, at, from, height]);

  const walk = (event: KeyboardEvent) => {
    const to = destination(event.key, at, list.length);
    if (to !== null && to >= 0 && to < list.length) {
      event.preventDefault();
      event.stopPropagation();
      goTo(list.seqAt(to));
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
      {open.recorded && (
        <label className="note">
          <input
            type="checkbox"
            checked={byTime}
            onChange={(event) => setByTime(event.target.checked)}
          />{" "}
          As recorded
        </label>
      )}
      <span className="note">
        {found === null
          ? `${open.length.toLocaleString("en")} entries`
          : `${found.seqs.length.toLocaleString("en")} of ${open.length.toLocaleString("en")}`}
      </span>
      {count < list.length && (
        <span className="note" title="Move the cursor to see others">
          Here are #{list.seqAt(from).toLocaleString("en")} to #
          {list.seqAt(from + count - 1).toLocaleString("en")}.
        </span>
      )}
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
          aria-activedescendant={list.seqAt(at) === seq ? `entry-${seq}` : undefined}
          style={
            {
              height: rows.getTotalSize(),
              "--seq-width": `${Math.max(3, String(open.length).length) + 1}ch`,
            } as CSSProperties
          }
          onKeyDown={walk}
        >
          {items.map(({ index, start }) => {
            const one = list.seqAt(from + index);
            const row = known.get(one);
            return (
              <div
                key={one}
                id={`entry-${one}`}
                className="entry-row"
                role="option"
                aria-selected={one === seq}
                aria-setsize={list.length}
                aria-posinset={from + index + 1}
                data-future={one > seq}
                style={{ transform: `translateY(${start}px)` }}
                onClick={() => goTo(one)}
              >
                <span className="entry-seq">{one}</span>
                <span className="entry-at">
                  {(row?.at ?? open.index.instant(one)).slice(11, 19)}
                </span>
                <span className="entry-class">{row?.class ?? open.index.classOf(one)}</span>
                <span className="entry-summary" title={row?.says}>
                  {noted.has(one) && <span title="There is a note at this entry">✎ </span>}
                  {row?.says}
                </span>
              </div>
            );
          })}
        </div>
      </Pane>
      <section className="detail" aria-label="entry at the cursor">
        <EntryDetail open={open} seq={seq} />
      </section>
    </div>
  );
});

/** The entries of the list, in its order, without an object for each. */
interface List {
  length: number;
  seqAt: (index: number) => number;
  /** The index of an entry, or of the last one of the list before it; -1 if there is none. */
  indexOf: (seq: number) => number;
}

/**
 * The entries that were found, or all. `indexed` is how many of them have a known instant, if the
 * list is ordered by their instants.
 */
function listOf(open: Open, found: Uint32Array | null, indexed: number | null): List {
  if (indexed !== null && indexed === open.length) {
    return orderedBy(open.index.byInstant(), found);
  }
  return found === null
    ? { length: open.length, seqAt: (index) => index + 1, indexOf: (seq) => seq - 1 }
    : {
        length: found.length,
        seqAt: (index) => found[index] ?? 0,
        indexOf: (seq) => countUpTo(found, seq) - 1,
      };
}

function orderedBy(all: Uint32Array, found: Uint32Array | null): List {
  const of = found === null ? null : new Set(found);
  const order = of === null ? all : all.filter((seq) => of.has(seq));
  const indexes = new Map(Array.from(order, (seq, index) => [seq, index]));
  return {
    length: order.length,
    seqAt: (index) => order[index] ?? 0,
    indexOf: (seq) => indexes.get(seq) ?? -1,
  };
}

/** The number of sorted entries before or at an entry. */
function countUpTo(seqs: Uint32Array, seq: number): number {
  let [low, high] = [0, seqs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    [low, high] = (seqs[middle] ?? 0) <= seq ? [middle + 1, high] : [low, middle];
  }
  return low;
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
  useEffect(() => {
    let alive = true;
    void open.document.line(seq).then((stored) => alive && setLine(stored));
    return () => {
      alive = false;
    };
  }, [open, seq]);
  if (line === "") {
    return null;
  }
  const entry = JSON.parse(line) as Entry;
  return (
    <>
      <header className="pane-head">
        <h2>
          #{entry.seq} {entry.class}
        </h2>
        <code className="note chain" title={entry.chain}>
          {entry.chain.slice(0, 16)}
        </code>
        <CopyButton text={line} label="Copy line" title="Copy the stored line, byte for byte" />
      </header>
      <div className="pane-body" tabIndex={0} role="group" aria-label="record">
        <JsonTree value={entry.record} depth={4} label={`record of entry ${entry.seq}`} />
      </div>
    </>
  );
}
