// The changes of the decision along a ledger, fetched in parts, so that a long one fills in
// gradually.
import { useEffect, useState } from "react";
import type { Edition } from "@package/payloads.js";

import type { Decided, Trouble } from "./messages.ts";
import type { Open } from "./use-document.ts";

/**
 * The number of entries per question. It takes a fraction of a second, so that the cursor never
 * waits long.
 */
const PART = 5_000;

/** The changes that are known so far. */
export interface Changes {
  changes: readonly Decided[];
  /** The last entry that is known. */
  upTo: number;
  /** Why the rest is unknown, if the question failed. */
  trouble: Trouble | null;
}

const NOTHING: Changes = { changes: [], upTo: 0, trouble: null };

/** The decisions of a document under an edition; by default its own. */
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
        // Each part begins with its first decision, which is a change only if it differs from the
        // last known one.
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

/** The last change before or at an entry. */
export function holdsAt({ changes }: Changes, seq: number): Decided | undefined {
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    [low, high] = (changes[middle]?.seq ?? 0) <= seq ? [middle + 1, high] : [low, middle];
  }
  return changes[low - 1];
}
