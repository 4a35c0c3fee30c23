// The page's end of the live agent: its worker, and what the worker has told so far.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Head } from "@package/payloads.js";

import { discard as removeFiles, isThere } from "./files.ts";
import type { Ask, Behaviour, Command, Happening, LiveView, Refusal, Told } from "./messages.ts";

/** Where the agent's process is. */
export type ProcessState = "none" | "starting" | "open" | "closed" | "crashed";

/** A live agent, as the page knows it. */
export interface Live extends Known {
  /** How its provider plays the turns that start from now on. */
  behaviour: Behaviour;
  setBehaviour(behaviour: Behaviour): void;
  /** Starts the agent's process, or starts it again; gives why that was refused, or null. */
  open(): Promise<Refusal | null>;
  /** Asks something of the open agent; gives why it was refused, or null. */
  send(command: Command): Promise<Refusal | null>;
  /** Ends the agent's process at once, wherever it is. */
  crash(): void;
  /** Ends its process and removes its ledger for good. */
  discard(): Promise<void>;
}

interface Known {
  process: ProcessState;
  /** The open agent; null where it is not open. */
  view: LiveView | null;
  /** The head of the newest line that is known, also when the process has ended. */
  head: Head | null;
  /** All lines of the ledger so far. */
  lines: readonly string[];
  /**
   * What was done to it, as lines of a scenario file; null where that began before this page, which
   * knows the ledger only.
   */
  acts: readonly string[] | null;
  /** What happened, the newest last. */
  log: readonly Happening[];
  /** Why it could not be opened. */
  refused: Refusal | null;
}

const NOTHING: Known = {
  process: "none",
  view: null,
  head: null,
  lines: [],
  acts: [],
  log: [],
  refused: null,
};

/** How many happenings are kept. */
const LOG = 500;

/** Its process ended before it answered. */
const ENDED: Refusal = { code: "ended", message: "the agent's process has ended: open it again" };

/** The live agent of this page; one that is kept in this browser is opened at once. */
export function useLive(): Live {
  const [known, setKnown] = useState<Known>(NOTHING);
  const [behaviour, keepBehaviour] = useState<Behaviour>({
    does: "say",
    text: "Done.",
    takes_ms: 2000,
  });
  const worker = useRef<Worker | null>(null);
  const asks = useRef(new Map<number, (refused: Refusal | null) => void>());
  const count = useRef(0);

  const end = useCallback(() => {
    worker.current?.terminate();
    worker.current = null;
    for (const answer of asks.current.values()) answer(ENDED);
    asks.current.clear();
  }, []);

  const send = useCallback((command: Command) => {
    const { current } = worker;
    if (current === null) return Promise.resolve(ENDED);
    return new Promise<Refusal | null>((answer) => {
      const ask = (count.current += 1);
      asks.current.set(ask, answer);
      current.postMessage({ ask, command } satisfies Ask);
    });
  }, []);

  const open = useCallback(async () => {
    end();
    setKnown((before) => ({ ...NOTHING, log: before.log, acts: before.acts, process: "starting" }));
    const started = new Worker(new URL("./live-worker.ts", import.meta.url), { type: "module" });
    worker.current = started;
    started.addEventListener("message", ({ data }: MessageEvent<Told>) => {
      // What a process said before it was ended may still arrive.
      if (worker.current !== started) return;
      if (data.say === "answered") {
        asks.current.get(data.ask)?.(data.refused);
        asks.current.delete(data.ask);
      } else {
        setKnown((before) => heard(before, data));
      }
    });
    started.addEventListener("error", ({ message }) => {
      end();
      setKnown((before) => ({
        ...before,
        process: "none",
        refused: { code: "failed", message: message || "the worker could not be loaded" },
      }));
    });
    const refused = await send({ do: "open", behaviour });
    // Whoever ended this process has said what became of it.
    if (refused !== null && worker.current === started) {
      end();
      setKnown((before) => ({ ...before, process: "none", refused }));
    }
    return refused;
  }, [behaviour, end, send]);

  const crash = useCallback(() => {
    end();
    setKnown((before) => ({ ...before, process: "crashed", view: null }));
  }, [end]);

  const discard = useCallback(async () => {
    end();
    try {
      await removeFiles();
      setKnown(NOTHING);
    } catch (error) {
      const message = `the ledger cannot be removed: ${error instanceof Error ? error.message : String(error)}`;
      setKnown((before) => ({
        ...before,
        process: "none",
        view: null,
        refused: { code: "in_use", message },
      }));
    }
  }, [end]);

  const setBehaviour = useCallback(
    (next: Behaviour) => {
      keepBehaviour(next);
      void send({ do: "behave", behaviour: next });
    },
    [send],
  );

  const first = useRef(open);
  useEffect(() => {
    let stays = true;
    void isThere().then((there) => stays && there && void first.current());
    return () => {
      stays = false;
      end();
    };
  }, [end]);

  return useMemo(
    () => ({ ...known, behaviour, setBehaviour, open, send, crash, discard }),
    [known, behaviour, setBehaviour, open, send, crash, discard],
  );
}

function heard(
  before: Known,
  { view, lines, happened, acts }: Extract<Told, { say: "changed" }>,
): Known {
  return {
    ...before,
    process: view === null ? (before.process === "starting" ? "starting" : "closed") : "open",
    view,
    head: view?.head ?? before.head,
    lines: lines.length === 0 ? before.lines : [...before.lines, ...lines],
    acts: actsOf(before, acts),
    log: [...before.log, ...happened].slice(-LOG),
    refused: null,
  };
}

/**
 * A scenario is whole where this page has seen its beginning: the first act of a process that found
 * a ledger is to take it over.
 */
function actsOf({ acts }: Known, more: string[]): readonly string[] | null {
  const tookOver = more.find((act) => !act.startsWith("clock ")) === "restart";
  return acts === null || (acts.length === 0 && tookOver) ? null : [...acts, ...more];
}
