// What the panes show of entries: the index as far as it is known, the rows that are visible, and
// the entries that a search finds.
import { proxy, type Remote } from "comlink";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";

import type { Index } from "./index.ts";
import type { Document } from "./messages.ts";
import type { Row } from "./rows.ts";
import type { Open } from "./use-document.ts";

/** The most rows that are kept of a document. */
const KEPT = 4_000;

/** The time between two drawings of a growing index, in milliseconds. */
const SHOWN_MS = 150;

/** The number of entries that are indexed so far. It changes a few times per second at most. */
export function useIndexed(index: Index): number {
  const { subscribe, known } = useMemo(() => paced(index), [index]);
  return useSyncExternalStore(subscribe, known);
}

/** Tells at once of the first change, and of later ones together. */
function paced(index: Index) {
  let known = index.length;
  const subscribe = (hear: () => void) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let next = 0;
    const show = () => {
      timer = undefined;
      next = performance.now() + SHOWN_MS;
      known = index.length;
      hear();
    };
    const end = index.subscribe(() => {
      const wait = next - performance.now();
      if (timer === undefined) {
        if (wait <= 0) {
          show();
        } else {
          timer = setTimeout(show, wait);
        }
      }
    });
    if (known !== index.length) {
      show();
    }
    return () => {
      clearTimeout(timer);
      end();
    };
  };
  return { subscribe, known: () => known };
}

/** The rows of each document that were asked for, and what is asked for now. */
const ROWS = new WeakMap<Index, Map<number, Row>>();

/** The rows of these entries, as far as they are known; the others are asked for. */
export function useRows(
  { index, document }: Open,
  seqs: readonly number[],
): ReadonlyMap<number, Row> {
  const [, setKnown] = useState(0);
  const rows = rowsOf(index);
  const missing = seqs.filter((seq) => !rows.has(seq)).join();
  useEffect(() => {
    if (missing === "") {
      return;
    }
    let alive = true;
    void document.rows(Uint32Array.from(missing.split(","), Number)).then((found) => {
      if (rows.size + found.length > KEPT) {
        rows.clear();
      }
      found.forEach((row) => rows.set(row.seq, row));
      if (alive) {
        setKnown((count) => count + 1);
      }
    });
    return () => {
      alive = false;
    };
  }, [document, rows, missing]);
  return rows;
}

function rowsOf(index: Index): Map<number, Row> {
  const known = ROWS.get(index);
  if (known !== undefined) {
    return known;
  }
  const made = new Map<number, Row>();
  ROWS.set(index, made);
  return made;
}

/** The entries that a search has found so far. */
export interface Found {
  seqs: Uint32Array;
  /** Whether the search has come to the end. */
  isDone: boolean;
}

/** The entries whose row has every word; null if there are no words. */
export function useFound({ document, length }: Open, text: string): Found | null {
  const [found, setFound] = useState<(Found & { text: string }) | null>(null);
  const words = text.trim();
  useEffect(() => {
    if (words === "") {
      setFound(null);
      return;
    }
    return searched(document, words, (seqs, isDone) => setFound({ text: words, seqs, isDone }));
  }, [document, length, words]);
  // The result of the letters before stays until the first one of these arrives.
  return words === "" ? null : found;
}

/** Searches. Returns a function that ends the search for this caller. */
function searched(
  document: Remote<Document>,
  words: string,
  show: (seqs: Uint32Array, isDone: boolean) => void,
): () => void {
  let alive = true;
  let all = new Uint32Array(1024);
  let [length, shown] = [0, 0];
  const take = (seqs: Uint32Array) => {
    if (!alive) {
      return;
    }
    if (length + seqs.length > all.length) {
      const grown = new Uint32Array(Math.max(all.length * 2, length + seqs.length));
      grown.set(all);
      all = grown;
    }
    all.set(seqs, length);
    length += seqs.length;
    const now = performance.now();
    if (now - shown >= SHOWN_MS && length > 0) {
      shown = now;
      show(all.subarray(0, length), false);
    }
  };
  void document.search(words, proxy(take)).then((isWhole) => {
    if (alive && isWhole) {
      show(all.subarray(0, length), true);
    }
  });
  return () => {
    alive = false;
  };
}
