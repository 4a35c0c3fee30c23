// The page's end of the worker: the list of cases, and the case that is played.
import { useCallback, useEffect, useRef, useState } from "react";

import type { CaseLine } from "../case/bundle.ts";
import type { Played } from "../case/trace.ts";
import type { Answer, PlayCase } from "./messages.ts";

/** What the worker has given so far. */
export interface GuestView {
  /** The cases; none before the bundle is there. */
  cases: CaseLine[] | null;
  /** What is wrong with the guest or the bundle as a whole. */
  broken: string | null;
  /** The case that was asked for last, once it is played; the one before stays until then. */
  played: Played | null;
  /** Why the case that was asked for last could not be played. */
  failed: { case: string; message: string } | null;
}

/** Starts the worker and plays what is asked for. */
export function useGuest(): GuestView & { play: (name: string) => void } {
  const [view, setView] = useState<GuestView>({ cases: null, broken: null, played: null, failed: null });
  const worker = useRef<Worker | null>(null);
  const asked = useRef<PlayCase>({ ask: 0, case: "" });

  useEffect(() => {
    // The worker's own address is its script's; its name carries the page's, against which the bundle is found.
    const started = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: document.baseURI });
    worker.current = started;
    started.addEventListener("error", (event) => {
      setView((before) => ({ ...before, broken: event.message || "the worker could not be loaded" }));
    });
    started.addEventListener("message", ({ data }: MessageEvent<Answer>) => {
      setView((before) => heard(before, data, asked.current));
    });
    return () => started.terminate();
  }, []);

  const play = useCallback((name: string) => {
    asked.current = { ask: asked.current.ask + 1, case: name };
    worker.current?.postMessage(asked.current);
  }, []);
  return { ...view, play };
}

function heard(before: GuestView, answer: Answer, asked: PlayCase): GuestView {
  switch (answer.say) {
    case "ready":
      return { ...before, cases: answer.cases };
    case "broken":
      return { ...before, broken: answer.message };
    case "played":
      return answer.ask === asked.ask ? { ...before, played: answer.played, failed: null } : before;
    case "failed":
      return answer.ask === asked.ask ? { ...before, failed: { case: asked.case, message: answer.message } } : before;
  }
}
