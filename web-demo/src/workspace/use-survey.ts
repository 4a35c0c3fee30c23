// What each agent of a store does. One worker looks at one agent after the other.
import { proxy, wrap } from "comlink";
import { useEffect, useState } from "react";

import { LISTED_AS } from "../case/labels.ts";
import type { Document } from "../document/messages.ts";
import type { Store, StoreAgent } from "../document/source.ts";
import { startWorker } from "../document/use-document.ts";
import type { Asked } from "../frame/acts.ts";

/** The most agents of a store that are looked at by themselves. */
export const MOST_LOOKED_AT = 500;

/** The states by which agents are listed, those that need a person first. */
export const STATES = {
  needs: "Needs you",
  works: "Works",
  waits: "Waits",
  rests: "At rest",
  stopped: "Stopped",
  broken: "Cannot be read",
  unknown: "Not looked at yet",
} as const;

/** One of them. */
export type AgentState = keyof typeof STATES;

/** What was found out about an agent. */
export interface Surveyed {
  state: AgentState;
  /** The most urgent notice, or else the sentence about the agent. */
  says: string;
  /** What it reported last, if it asks for an answer. */
  asks: string | null;
  /** What a person can do about it, if it needs one. */
  act: Asked | null;
}

/** What is known of the agents of a store, by position. */
export function useSurvey(store: Store): ReadonlyMap<number, Surveyed> {
  const [known, setKnown] = useState<ReadonlyMap<number, Surveyed>>(new Map());
  useEffect(() => {
    let alive = true;
    setKnown(new Map());
    const worker = startWorker();
    const document = wrap<Document>(worker);
    const run = async () => {
      for (const [at, agent] of store.agents.slice(0, MOST_LOOKED_AT).entries()) {
        const found = await look(document, agent);
        if (!alive) {
          return;
        }
        setKnown((before) => new Map(before).set(at, found));
      }
      worker.terminate();
    };
    void run();
    return () => {
      alive = false;
      worker.terminate();
    };
  }, [store]);
  return known;
}

async function look(
  document: ReturnType<typeof wrap<Document>>,
  { source }: StoreAgent,
): Promise<Surveyed> {
  const opened = await document.open(
    source,
    proxy(() => {}),
  );
  if ("error" in opened) {
    return { state: "broken", says: opened.error.message, asks: null, act: null };
  }
  const now = new Date().toISOString();
  const seen = await document.see({ seq: opened.ok.length, now });
  if ("error" in seen) {
    return { state: "broken", says: seen.error.message, asks: null, act: null };
  }
  const { explanation, headline } = seen.ok;
  const [first] = headline.notices;
  const isStopped = first?.kind === "stopped" || first?.kind === "shut_down";
  const needs = (first !== undefined && !isStopped) || headline.next?.kind === "answer";
  const act = first?.act ?? headline.next;
  const report = act?.kind === "answer" ? await document.lastReport(opened.ok.length) : null;
  return {
    state: needs ? "needs" : (LISTED_AS[explanation.decision.decision] ?? "works"),
    says: first?.says ?? explanation.sentence,
    asks: report?.text ?? null,
    act: needs && act != null ? { act, notice: first?.kind ?? null } : null,
  };
}
