// The changes of the decision along a ledger, and what is odd in it. They are fetched in parts, so
// that a long one fills in gradually.
import type { Remote } from "comlink";
import { useEffect, useMemo, useState } from "react";
import type { Edition, Oddity } from "@package/payloads.js";

import type { Answer, Decided, Document, History, Said, Trouble } from "./messages.ts";
import type { Open } from "./use-document.ts";

/** The entries per question, of a short and of a long ledger. Few let the cursor wait less. */
const [LEAST, MOST] = [2_000, 4_000];

/** The questions that are open at once, so that the worker has the next while the page draws. */
const AHEAD = 2;

/** The time between two drawings of what is known, in milliseconds. */
const SHOWN_MS = 400;

/** The changes that are known so far, in order. */
export interface Changes {
  length: number;
  /** The entry of each change. */
  seqs: Uint32Array;
  /** For each of them the position in `said`. */
  says: Uint32Array;
  said: readonly Said[];
  /** What is odd, in the order of the entries. Nothing under another edition. */
  oddities: readonly Oddity[];
  /** The last entry that is known. */
  upTo: number;
  /** Why the rest is unknown, if the question failed. */
  trouble: Trouble | null;
}

const NOTHING: Changes = {
  length: 0,
  seqs: new Uint32Array(0),
  says: new Uint32Array(0),
  said: [],
  oddities: [],
  upTo: 0,
  trouble: null,
};

/** The decisions of a document under an edition; by default its own. */
export function useDecided({ document, length }: Open, edition: Edition | undefined): Changes {
  const [known, setKnown] = useState(NOTHING);
  // A ledger that grows continues where it was; another document or edition begins anew.
  const list = useMemo(() => new ChangeList(document, edition), [document, edition]);
  useEffect(() => {
    let alive = true;
    setKnown(list.known());
    const run = async () => {
      let shown = performance.now();
      while (alive && list.upTo < length && list.trouble === null) {
        await list.more(length);
        const now = performance.now();
        if (alive && (now - shown >= SHOWN_MS || list.upTo >= length || list.trouble !== null)) {
          shown = now;
          setKnown(list.known());
        }
      }
    };
    void run();
    return () => {
      alive = false;
    };
  }, [list, length]);
  return known;
}

/** The changes of a document under an edition, which grow part by part. */
class ChangeList {
  upTo = 0;
  trouble: Trouble | null = null;
  #length = 0;
  #seqs = new Uint32Array(1024);
  #says = new Uint32Array(1024);
  #said: readonly Said[] = [];
  /** By kind and first entry. */
  readonly #odd = new Map<string, Oddity>();
  #oddities: readonly Oddity[] = [];
  readonly #asked: { to: number; answer: Promise<Answer<History>> }[] = [];
  readonly #document: Remote<Document>;
  readonly #edition: Edition | undefined;

  constructor(document: Remote<Document>, edition: Edition | undefined) {
    this.#document = document;
    this.#edition = edition;
  }

  /** Asks about the next entries, and takes the oldest answer. */
  async more(length: number): Promise<void> {
    const part = Math.max(LEAST, Math.min(MOST, Math.ceil(length / 50)));
    let from = (this.#asked.at(-1)?.to ?? this.upTo) + 1;
    while (this.#asked.length < AHEAD && from <= length) {
      const to = Math.min(length, from + part - 1);
      this.#asked.push({ to, answer: this.#document.history(from, to, this.#edition) });
      from = to + 1;
    }
    const [oldest] = this.#asked;
    const answer = await oldest?.answer;
    // Another run of the effect may wait for the same answer, and be first.
    if (oldest === undefined || answer === undefined || this.#asked[0] !== oldest) {
      return;
    }
    this.#asked.shift();
    if ("error" in answer) {
      this.trouble = answer.error;
      return;
    }
    this.#add(answer.ok);
    this.upTo = oldest.to;
  }

  known(): Changes {
    return {
      length: this.#length,
      seqs: this.#seqs.subarray(0, this.#length),
      says: this.#says.subarray(0, this.#length),
      said: this.#said,
      oddities: this.#oddities,
      upTo: this.upTo,
      trouble: this.trouble,
    };
  }

  #add({ seqs, says, said, oddities }: History) {
    this.#said = said;
    if (oddities.length > 0) {
      // A burst that goes on comes again, with the same first entry.
      oddities.forEach((odd) => this.#odd.set(`${odd.kind} ${odd.seq}`, odd));
      this.#oddities = [...this.#odd.values()].sort((left, right) => left.seq - right.seq);
    }
    // Each part begins with its first decision, which is a change only if it differs from the last
    // known one.
    const isSame = this.#length > 0 && says[0] === this.#says[this.#length - 1];
    const from = isSame ? 1 : 0;
    const more = Math.max(0, seqs.length - from);
    if (this.#length + more > this.#seqs.length) {
      const room = Math.max(this.#seqs.length * 2, this.#length + more);
      this.#seqs = grown(this.#seqs, room);
      this.#says = grown(this.#says, room);
    }
    this.#seqs.set(seqs.subarray(from), this.#length);
    this.#says.set(says.subarray(from), this.#length);
    this.#length += more;
  }
}

/** A change by its position. */
export function changeAt({ length, seqs, says, said }: Changes, at: number): Decided | undefined {
  const what = at >= 0 && at < length ? said[says[at] ?? 0] : undefined;
  return what === undefined ? undefined : { seq: seqs[at] ?? 0, ...what };
}

/** The number of changes before or at an entry. */
export function countUpTo({ length, seqs }: Changes, seq: number): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    [low, high] = (seqs[middle] ?? 0) <= seq ? [middle + 1, high] : [low, middle];
  }
  return low;
}

/** The last change before or at an entry. */
export function holdsAt(changes: Changes, seq: number): Decided | undefined {
  return changeAt(changes, countUpTo(changes, seq) - 1);
}

function grown(array: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(length);
  more.set(array);
  return more;
}
