// The live agent in the page: its worker, and the news so far.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Head } from "@package/payloads.js";

import { discard as removeFiles, isThere } from "./files.ts";
import type { Ask, Behaviour, Command, Happening, LiveView, Refusal, Told } from "./messages.ts";

/** The state of the agent's process. */
export type ProcessState = "none" | "starting" | "open" | "closed" | "crashed";

/** A live agent in the page. */
export interface Live extends Known {
  /** The behaviour of its provider in turns that start from now on. */
  behaviour: Behaviour;
  setBehaviour(behaviour: Behaviour): void;
  /** Starts the agent's process, or starts it again. Returns the refusal, or null. */
  open(): Promise<Refusal | null>;
  /** Sends a command to the open agent. Returns the refusal, or null. */
  send(command: Command): Promise<Refusal | null>;
  /** Ends the agent's process at once. */
  crash(): void;
  /** Ends its process and removes its ledger permanently. */
  discard(): Promise<void>;
}

interface Known {
  process: ProcessState;
  /** The open agent; null if it is not open. */
  view: LiveView | null;
  /** The head of the newest known line, also after the process has ended. */
  head: Head | null;
  /** All lines of the ledger so far. */
  lines: readonly string[];
  /**
   * The actions on it, as lines of a scenario file. Null if they began before this page was opened.
   */
  acts: readonly string[] | null;
  /** The log, newest last. */
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

/** The number of log lines to keep. */
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
    tokens: 100,
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
      // Messages of an ended process may still arrive.
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
    // The code that ended this process has set its state already.
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
 * A scenario is complete if this page has seen its beginning. A process that found a ledger begins
 * with taking it over.
 */
function actsOf({ acts }: Known, more: string[]): readonly string[] | null {
  const tookOver = more.find((act) => !act.startsWith("clock ")) === "restart";
  return acts === null || (acts.length === 0 && tookOver) ? null : [...acts, ...more];
}
