// The documents of the page: the open one, the one that is opening, and the last error.
import { proxy, wrap, type Remote } from "comlink";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import type { Answer, Document, Look, Opened, Progress, Seen, Trouble } from "./messages.ts";
import { Index } from "./index.ts";
import { sourceOf, type Recognised, type Source } from "./source.ts";
import type { Files } from "./files.ts";

/** A document that is open. */
export interface Open extends Opened {
  /**
   * The number of the opening. A ledger that is opened again is another document with its own
   * worker.
   */
  id: number;
  /** What is known of each entry; it grows in the background. */
  index: Index;
  document: Remote<Document>;
}

/** The state of the documents for the page. */
export interface Documents {
  open: Open | null;
  opening: { name: string; progress: Progress | null } | null;
  failed: { name: string; error: Trouble } | null;
}

/**
 * Opens a source. `cancel` ends an opening, and `dismiss` clears the last error.
 */
export function useDocuments(): Documents & {
  show: (source: Source) => void;
  /** Adds to a growing ledger; takes all its lines so far. */
  follow: (lines: readonly string[]) => void;
  fail: (name: string, error: unknown) => void;
  cancel: () => void;
  dismiss: () => void;
} {
  const [view, setView] = useState<Documents>({ open: null, opening: null, failed: null });
  const workers = useRef<{ open: Worker | null; opening: Worker | null; spare: Worker | null }>({
    open: null,
    opening: null,
    spare: null,
  });

  const cancel = useCallback(() => {
    workers.current.opening?.terminate();
    workers.current.opening = null;
    setView((before) => ({ ...before, opening: null }));
  }, []);
  const fail = useCallback((name: string, error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    setView((before) => ({ ...before, opening: null, failed: { name, error: { message } } }));
  }, []);
  const show = useCallback(
    (source: Source) => {
      cancel();
      const worker = workers.current.spare ?? startWorker();
      workers.current = { ...workers.current, opening: worker, spare: null };
      const isNewest = () => workers.current.opening === worker;
      worker.addEventListener("error", (event) => {
        if (isNewest() || workers.current.open === worker) {
          fail(source.name, event.message || NO_WORKER);
        }
      });
      setView((before) => ({
        ...before,
        opening: { name: source.name, progress: null },
        failed: null,
      }));
      const document = wrap<Document>(worker);
      const progressed = (progress: Progress) =>
        isNewest() &&
        setView((before) => ({ ...before, opening: { name: source.name, progress } }));
      void document.open(source, proxy(progressed)).then((answer) => {
        if (!isNewest()) {
          return;
        }
        if ("error" in answer) {
          worker.terminate();
          workers.current.opening = null;
          setView((before) => ({
            ...before,
            opening: null,
            failed: { name: source.name, error: answer.error },
          }));
          return;
        }
        workers.current.open?.terminate();
        workers.current = { open: worker, opening: null, spare: startWorker() };
        const index = new Index();
        setView((before) => ({
          open: { ...answer.ok, id: (before.open?.id ?? 0) + 1, index, document },
          opening: null,
          failed: null,
        }));
        grow(index, document);
      });
    },
    [cancel, fail],
  );
  const followed = useRef({ id: 0, done: Promise.resolve() });
  const opened = useRef(view.open);
  opened.current = view.open;
  const follow = useCallback(
    (lines: readonly string[]) => {
      const id = opened.current?.id ?? 0;
      // One after the other, because each continues where the one before ended. A question to a
      // closed document is never answered.
      const last = followed.current.id === id ? followed.current.done : Promise.resolve();
      const done = last.then(async () => {
        const before = opened.current;
        if (before === null || lines.length <= before.length) {
          return;
        }
        const answer = await before.document.extend(lines.slice(before.length));
        if ("error" in answer) {
          fail(before.name, new Error(answer.error.message));
          return;
        }
        const open = { ...before, ...answer.ok };
        opened.current = open;
        grow(open.index, open.document);
        setView((now) => (now.open === before ? { ...now, open } : now));
      });
      followed.current = { id, done };
    },
    [fail],
  );
  const dismiss = useCallback(() => setView((before) => ({ ...before, failed: null })), []);
  useEffect(() => {
    // The first worker loads the guest while the page fetches its first source. Later ones wait for
    // the next source.
    workers.current.spare ??= startWorker();
    return () => {
      Object.values(workers.current).forEach((worker) => worker?.terminate());
      workers.current = { open: null, opening: null, spare: null };
    };
  }, []);
  return { ...view, show, follow, fail, cancel, dismiss };
}

/**
 * Recognises files. Only SQLite can list the agents of its ledger files, in a worker of its own.
 */
export async function recognise(name: string, files: Files): Promise<Recognised> {
  return sourceOf(name, files, async (of) => {
    const worker = startWorker();
    // A tab that is older than the page of its server finds no worker, which then never answers.
    const broken = new Promise<never>((_, reject) =>
      worker.addEventListener("error", ({ message }) => reject(new Error(message || NO_WORKER))),
    );
    try {
      const answer = await Promise.race([wrap<Document>(worker).agents(of), broken]);
      if ("error" in answer) {
        throw new Error(answer.error.message);
      }
      return answer.ok;
    } finally {
      worker.terminate();
    }
  });
}

/** Lets the index grow in the background. A question to a closed document is never answered. */
function grow(index: Index, document: Remote<Document>) {
  document.index(proxy((part) => index.add(part))).catch((error: unknown) => {
    console.error("the entries cannot be indexed:", error);
  });
}

/** Why a worker ends without a word. */
const NO_WORKER =
  "a part of this page could not be loaded, or it ran out of memory: reload the page, which may have a newer version";

/** A worker for one document. */
export function startWorker(): Worker {
  return new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
}

/**
 * The newest answer to a question that changes faster than it is answered. One question is open at
 * a time, and the last one is always asked.
 */
export function useNewest<Q, T>(question: Q | null, ask: (question: Q) => Promise<T>): T | null {
  const [known, setKnown] = useState<T | null>(null);
  const pending = useRef<{ running: boolean; next: Q | null }>({ running: false, next: null });
  useEffect(() => {
    let alive = true;
    const run = async () => {
      const state = pending.current;
      while (state.next !== null) {
        const asked = state.next;
        state.next = null;
        state.running = true;
        const answer = await ask(asked);
        state.running = false;
        if (alive || state.next === null) {
          setKnown(() => answer);
        }
      }
    };
    if (question !== null) {
      pending.current.next = question;
      if (!pending.current.running) {
        void run();
      }
    }
    return () => {
      alive = false;
    };
  }, [question, ask]);
  return known;
}

/** The view of a document. The last view stays until the next one arrives. */
export function useSeen(document: Remote<Document> | null, look: Look | null): Answer<Seen> | null {
  const ask = useCallback(
    async (asked: { document: Remote<Document>; look: Look }) => asked.document.see(asked.look),
    [],
  );
  const question = useMemo(
    () => (document === null || look === null ? null : { document, look }),
    [document, look],
  );
  return useNewest(question, ask);
}
