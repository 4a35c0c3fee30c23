// Where the decision changes along a ledger, asked for in parts, so that a long one fills in while
// it is looked at.
import { useEffect, useState } from "react";
import type { Edition } from "@package/payloads.js";

import type { Decided, Trouble } from "./messages.ts";
import type { Open } from "./use-document.ts";

/**
 * How many entries are asked about at once: a fraction of a second, so that the cursor never waits
 * long.
 */
const PART = 5_000;

/** What is known so far of where decisions change. */
export interface Changes {
  changes: readonly Decided[];
  /** Up to which entry. */
  upTo: number;
  /** Why it is not known any further, where that failed. */
  trouble: Trouble | null;
}

const NOTHING: Changes = { changes: [], upTo: 0, trouble: null };

/** The decisions of a document under an edition; its own, where none is given. */
export function useDecided(open: Open, edition: Edition | undefined): Changes {
  const [known, setKnown] = useState(NOTHING);
  useEffect(() => {
    let alive = true;
    const run = async () => {
      const changes: Decided[] = [];
      for (let from = 1; from <= open.length && alive; from += PART) {
        const to = Math.min(open.length, from + PART - 1);
        const answer = await open.document.decided(from, to, edition);
        if (!alive) {
          return;
        }
        if ("error" in answer) {
          setKnown((before) => ({ ...before, trouble: answer.error }));
          return;
        }
        // The first of a part is said always; it is a change only where it differs from the last
        // one known.
        const [first, ...rest] = answer.ok;
        changes.push(
          ...(first === undefined || same(first, changes.at(-1)) ? rest : [first, ...rest]),
        );
        setKnown({ changes: [...changes], upTo: to, trouble: null });
      }
    };
    setKnown(NOTHING);
    void run();
    return () => {
      alive = false;
    };
  }, [open, edition]);
  return known;
}

function same(left: Decided, right: Decided | undefined): boolean {
  return (
    left.decision === right?.decision && left.rule === right.rule && left.reason === right.reason
  );
}

/** The change that holds at an entry. */
export function holdsAt({ changes }: Changes, seq: number): Decided | undefined {
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    [low, high] = (changes[middle]?.seq ?? 0) <= seq ? [middle + 1, high] : [low, middle];
  }
  return changes[low - 1];
}
