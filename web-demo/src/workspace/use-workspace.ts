// The workspace: the documents of this browser, as a tree. It outlives the page.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import type { Kind, Recognised, Source, Store, StoreAgent } from "../document/source.ts";
import {
  forget,
  keep,
  keepAbout,
  keptDocuments,
  keptSource,
  whyNotKept,
  type Kept,
  type Note,
} from "./keeping.ts";

/** The workspace, and what can be done with it. */
export interface Workspace {
  /** The documents, in the order in which they were opened. Null until they were read. */
  documents: readonly Kept[] | null;
  /** Why the browser does not keep them; null if it does. */
  notKept: string | null;
  /**
   * Adds a document, and returns its source with a name that no other document has. A newer copy of
   * a ledger takes the place of the older one, and keeps its notes.
   */
  add: <T extends Recognised>(source: T, of?: { parent?: string; notes?: Note[] }) => Promise<T>;
  /** A document could be opened, so it is kept from now on. */
  opened: (name: string) => void;
  /** A document was not opened: it is forgotten, unless it was opened before. */
  notOpened: (name: string) => void;
  /** The source of a document; null if it is lost. */
  source: (name: string) => Promise<Recognised | null>;
  /** Keeps where the cursor of a document stands. */
  moved: (name: string, seq: number | null) => void;
  /** The entry at which the cursor of a document stood last; null for the newest. */
  stood: (name: string) => number | null;
  /** Replaces the notes of a document. */
  annotate: (name: string, notes: Note[]) => void;
  /** Removes a document; its forks stay. */
  remove: (name: string) => void;
}

/** How long the cursor stands before its place is kept, in milliseconds. */
const SETTLES_MS = 400;

/** The kinds of documents that are somewhere else: a server, or the agent in this page. */
export function isElsewhere({ kind }: { kind: Recognised["kind"] }): boolean {
  return kind === "live" || kind === "served";
}

/** The workspace of this browser. */
export function useWorkspace(): Workspace {
  const [documents, setDocuments] = useState<readonly Kept[] | null>(null);
  const [notKept, setNotKept] = useState<string | null>(null);
  /** The sources that the browser has not kept, or not yet. */
  const sources = useRef(new Map<string, Recognised>());
  const wasOpened = useRef(new Set<string>());
  // What the newest call sees, also within one event.
  const newest = useRef<readonly Kept[]>([]);
  /** The documents whose place is not kept yet. */
  const unsettled = useRef(new Set<string>());
  const settle = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const set = useCallback((next: readonly Kept[]) => {
    newest.current = next;
    setDocuments(next);
  }, []);
  const trying = useCallback((work: Promise<void>) => {
    work.catch((error: unknown) => setNotKept(whyNotKept(error)));
  }, []);

  useEffect(() => {
    let alive = true;
    // Inside a promise, because a browser without IndexedDB throws at once.
    Promise.resolve()
      .then(keptDocuments)
      .then(
        (kept) => {
          if (alive) {
            kept.forEach(({ name }) => wasOpened.current.add(name));
            set(merged(kept, newest.current));
          }
        },
        (error: unknown) => {
          if (alive) {
            setNotKept(whyNotKept(error));
            set(newest.current);
          }
        },
      );
    return () => {
      alive = false;
    };
  }, [set]);

  const add = useCallback(
    async <T extends Recognised>(
      source: T,
      { parent, notes }: { parent?: string; notes?: Note[] } = {},
    ) => {
      const identity = await identityOf(source);
      const older = newest.current.find(
        (kept) => kept.name === source.name && kept.identity === identity,
      );
      const name = older?.name ?? freeName(source.name, newest.current);
      const kept: Kept = {
        name,
        identity,
        kind: kindOf(source),
        shows: source.shows,
        from:
          source.kind === "sqlite"
            ? { file: source.files.name, agent: source.agent, turns: source.turns }
            : null,
        parent: source.kind === "fork" ? source.of : (parent ?? null),
        after: source.kind === "fork" ? source.after : null,
        seq: older?.seq ?? null,
        notes: notes ?? notesOf(source) ?? older?.notes ?? [],
        opened: older?.opened ?? Date.now(),
      };
      const named = { ...source, name };
      sources.current.set(name, named);
      const others = newest.current.filter((other) => other.name !== name);
      set([...others, kept].sort((left, right) => left.opened - right.opened));
      return named;
    },
    [set],
  );
  const opened = useCallback(
    (name: string) => {
      const kept = newest.current.find((document) => document.name === name);
      const source = sources.current.get(name);
      if (kept !== undefined && source !== undefined) {
        // An agent of a store is found in it again.
        const isInStore = newest.current.some(
          (other) => other.kind === "store" && other.name === kept.parent,
        );
        trying(
          Promise.resolve()
            .then(() => (isInStore ? keepAbout(kept) : keep(kept, source)))
            .then(() => {
              wasOpened.current.add(name);
              // Its bytes need not be in memory twice.
              sources.current.delete(name);
            }),
        );
      }
    },
    [trying],
  );
  const notOpened = useCallback(
    (name: string) => {
      if (sources.current.has(name) && !wasOpened.current.has(name)) {
        sources.current.delete(name);
        set(newest.current.filter((kept) => kept.name !== name));
      }
    },
    [set],
  );
  const change = useCallback(
    (name: string, by: Partial<Kept>) => {
      const before = newest.current.find((kept) => kept.name === name);
      if (before === undefined) {
        return null;
      }
      const after = { ...before, ...by };
      set(newest.current.map((kept) => (kept === before ? after : kept)));
      return after;
    },
    [set],
  );
  const moved = useCallback(
    (name: string, seq: number | null) => {
      const before = newest.current.find((kept) => kept.name === name);
      if (before === undefined || before.seq === seq) {
        return;
      }
      // Nothing is drawn again: the page shows no cursor but the open one.
      newest.current = newest.current.map((kept) => (kept === before ? { ...kept, seq } : kept));
      unsettled.current.add(name);
      clearTimeout(settle.current);
      settle.current = setTimeout(() => {
        newest.current
          .filter((kept) => unsettled.current.has(kept.name))
          .forEach((kept) => trying(keepAbout(kept)));
        unsettled.current.clear();
      }, SETTLES_MS);
    },
    [trying],
  );
  const stood = useCallback(
    (name: string) => newest.current.find((kept) => kept.name === name)?.seq ?? null,
    [],
  );
  const annotate = useCallback(
    (name: string, notes: Note[]) => {
      const kept = change(name, { notes });
      if (kept !== null) {
        trying(keepAbout(kept));
      }
    },
    [change, trying],
  );
  const remove = useCallback(
    (name: string) => {
      sources.current.delete(name);
      set(newest.current.filter((kept) => kept.name !== name));
      trying(forget([name]));
    },
    [set, trying],
  );
  const source = useCallback(async (name: string): Promise<Recognised | null> => {
    const found = sources.current.get(name) ?? (await keptSource(name));
    if (found !== null) {
      return found;
    }
    const kept = newest.current.find((document) => document.name === name);
    const { parent = null } = kept ?? {};
    const store =
      parent === null ? null : (sources.current.get(parent) ?? (await keptSource(parent)));
    const agent =
      store?.kind === "store"
        ? store.agents.find((other) => nameInStore(other, store) === name)
        : undefined;
    return agent === undefined ? null : { ...agent.source, name };
  }, []);
  return useMemo(
    () => ({ documents, notKept, add, opened, notOpened, source, moved, stood, annotate, remove }),
    [documents, notKept, add, opened, notOpened, source, moved, stood, annotate, remove],
  );
}

/** The documents that were kept, and those that were opened while these were read. */
function merged(kept: readonly Kept[], opened: readonly Kept[]): Kept[] {
  const older = kept.filter(({ name }) => !opened.some((other) => other.name === name));
  return [...older, ...opened].sort((left, right) => left.opened - right.opened);
}

/**
 * The name of the document of a store's agent. In a folder, several ledgers may have agents of one
 * id; then the file tells them apart.
 */
export function nameInStore({ id, source }: StoreAgent, { name, agents }: Store): string {
  const isAlone = agents.filter((other) => other.id === id).length === 1;
  return `${isAlone ? id : `${id} of ${fileOf(source)}`} in ${name}`;
}

function fileOf(source: Source): string {
  return source.kind === "sqlite" ? source.files.name : source.name;
}

/** What two copies of one ledger have in common: its first entries, or its file and agent. */
async function identityOf(source: Recognised): Promise<string> {
  switch (source.kind) {
    case "ledger":
      return source.lines.slice(0, BEGINNING).text();
    case "sqlite":
      return `agent ${source.agent} of ${source.files.name}`;
    case "fork":
      // Each fork is one of its own.
      return `fork ${Date.now()}`;
    default:
      return source.kind;
  }
}

function kindOf({ kind }: Recognised): Kind | "store" {
  return kind === "sqlite" ? "ledger" : kind;
}

function notesOf(source: Recognised): Note[] | undefined {
  const notes = source.kind === "store" ? undefined : source.notes;
  return notes === undefined ? undefined : [...notes];
}

/** The bytes that tell ledgers apart: several entries, with their instants and hashes. */
const BEGINNING = 4_000;

/** A name that no document has: `agent.jsonl`, or else `agent.jsonl (2)`. */
export function freeName(name: string, taken: readonly { name: string }[]): string {
  const isTaken = (wanted: string) => taken.some((kept) => kept.name === wanted);
  for (let number = 1; ; number += 1) {
    const wanted = number === 1 ? name : `${name} (${number})`;
    if (!isTaken(wanted)) {
      return wanted;
    }
  }
}

/** A document in the tree, with its forks. */
export interface Branch {
  kept: Kept;
  forks: Branch[];
}

/** The tree of documents. A fork whose document was removed is a root. */
export function treeOf(documents: readonly Kept[]): Branch[] {
  const branches = new Map(documents.map((kept) => [kept.name, { kept, forks: [] as Branch[] }]));
  const roots: Branch[] = [];
  for (const branch of branches.values()) {
    const parent = branch.kept.parent === null ? undefined : branches.get(branch.kept.parent);
    (parent?.forks ?? roots).push(branch);
  }
  return roots;
}
