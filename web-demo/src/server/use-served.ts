// The agents of the server that handed out this page, and the one that is watched.
import { useCallback, useEffect, useRef, useState } from "react";

import {
  agentsOf,
  beginSession,
  entriesOf,
  NoSession,
  serverAddress,
  type ServedAgent,
} from "./client.ts";

/** The time between two looks at the list, and before a broken stream is opened again. */
const [LOOK_MS, AGAIN_MS] = [3_000, 1_000];

/** The time in which lines are gathered before the page shows them. */
const GATHER_MS = 50;

/** What the page knows of its server. */
export interface Served {
  /** Null until the list was read. */
  agents: ServedAgent[] | null;
  isCut: boolean;
  /** Whether the server asks for a token. */
  needsToken: boolean;
  /** Why the list or the watched agent cannot be read now. */
  trouble: string | null;
  signIn: (token: string) => Promise<void>;
  /** The agent that is watched, and its lines so far; they grow. */
  watched: { id: string; lines: readonly string[] } | null;
  /** Watches an agent; resolves with its lines when it was read to its newest entry. */
  watch: (id: string) => Promise<readonly string[]>;
}

/** The server of this page; null if the page was opened otherwise. */
export function useServed(): Served | null {
  const [server] = useState(serverAddress);
  const [list, setList] = useState<{ agents: ServedAgent[]; isCut: boolean } | null>(null);
  const [needsToken, setNeedsToken] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [watched, setWatched] = useState<Served["watched"]>(null);
  const stream = useRef<AbortController | null>(null);

  const look = useCallback(async () => {
    if (server === null || document.visibilityState === "hidden") {
      return;
    }
    try {
      setList(await agentsOf(server));
      setNeedsToken(false);
      setTrouble(null);
    } catch (error) {
      setNeedsToken(error instanceof NoSession);
      setTrouble(error instanceof NoSession ? null : message(error));
    }
  }, [server]);
  useEffect(() => {
    void look();
    const timer = setInterval(() => void look(), LOOK_MS);
    return () => clearInterval(timer);
  }, [look]);

  const signIn = useCallback(
    async (token: string) => {
      await beginSession(server ?? "/", token.trim());
      await look();
    },
    [server, look],
  );

  const watch = useCallback(
    async (id: string) => {
      stream.current?.abort();
      const controller = new AbortController();
      stream.current = controller;
      const { signal } = controller;
      const lines: string[] = [];
      const address = server ?? "/";
      await entriesOf(address, id, { after: 0, untilHead: true, signal }, (more) =>
        lines.push(...more),
      );
      setWatched({ id, lines: [...lines] });
      void follow(address, id, lines, signal, setWatched, setTrouble);
      return lines;
    },
    [server],
  );
  useEffect(() => () => stream.current?.abort(), []);
  return server === null
    ? null
    : {
        agents: list?.agents ?? null,
        isCut: list?.isCut ?? false,
        needsToken,
        trouble,
        signIn,
        watched,
        watch,
      };
}

/** Follows an agent from its last known line on, over broken connections, until it is ended. */
async function follow(
  server: string,
  id: string,
  lines: string[],
  signal: AbortSignal,
  show: (watched: { id: string; lines: readonly string[] }) => void,
  tell: (trouble: string | null) => void,
) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const add = (more: string[]) => {
    lines.push(...more);
    timer ??= setTimeout(() => {
      timer = undefined;
      if (!signal.aborted) {
        show({ id, lines: [...lines] });
      }
    }, GATHER_MS);
  };
  while (!signal.aborted) {
    try {
      await entriesOf(server, id, { after: lines.length, untilHead: false, signal }, add);
    } catch (error) {
      if (!signal.aborted) {
        tell(`the stream of \`${id}\` broke off: ${message(error)}`);
      }
    }
    await new Promise((later) => setTimeout(later, AGAIN_MS));
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
