// The workbench. It holds the documents and which of them is open; everything below it only shows
// that.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { sourceOfCase, useBundle } from "./document/bundle-cases.ts";
import type { Files } from "./document/files.ts";
import type { Progress } from "./document/messages.ts";
import type { Recognised, Source, Store } from "./document/source.ts";
import { recognise, useDocuments, type Open } from "./document/use-document.ts";
import { Alarm } from "./frame/alarm.tsx";
import { CaseList } from "./frame/case-list.tsx";
import type { Place } from "./frame/acts.ts";
import { Nothing } from "./frame/nothing.tsx";
import { useArrivals } from "./frame/arrivals.ts";
import { OpenDocument } from "./frame/open-document.tsx";
import { LivePane } from "./live/live-pane.tsx";
import { useLive, type Live } from "./live/use-live.ts";
import { onAddress, readAddress, writeAddress } from "./parts/address.ts";
import { keepOffline } from "./parts/offline.ts";
import { carried } from "./parts/permalink.ts";
import { ServedList } from "./server/served-list.tsx";
import { useServed, type Served } from "./server/use-served.ts";
import { useArrival } from "./parts/use-arrival.ts";
import type { Kept, Note } from "./workspace/keeping.ts";
import { WorkspaceTree } from "./workspace/tree.tsx";
import { StoreView } from "./workspace/store-view.tsx";
import { isElsewhere, nameInStore, useWorkspace } from "./workspace/use-workspace.ts";

/** The case that is shown to those who ask for none: it has a bit of everything. */
const INTRODUCTION = "heartbeat";

/** The page. */
export function Workbench() {
  const { cases, broken } = useBundle();
  const { open, opening, failed, show, follow, fail, cancel, dismiss } = useDocuments();
  const live = useLive();
  const served = useServed();
  const workspace = useWorkspace();
  const [{ why, what }] = useState(() => readAddress().view);
  const tabs = { why: useState(why ?? null), what: useState(what ?? null) };
  const [chosen, setChosen] = useState<string | null>(null);
  /** The store whose agents are listed; null while a document is shown. */
  const [store, setStore] = useState<Store | null>(null);
  /** Whether the document that opens was chosen for what to do about its agent. */
  const acts = useRef(false);
  /** The source that was shown last. */
  const shown = useRef<Source | null>(null);
  /** The case that was opened last, and what is open or opening. */
  const bundled = useRef<string | null>(null);
  const there = useRef<string | null>(null);
  there.current = (opening ?? open)?.name ?? null;

  // A store is listed until a document has opened, so that no other one flashes between.
  useEffect(() => setStore(null), [open?.id]);
  const { documents } = workspace;
  const isKept = useCallback(
    (name: string | null) => documents?.some((kept) => kept.name === name) ?? false,
    [documents],
  );
  const showSource = useCallback(
    (source: Source) => {
      bundled.current = null;
      shown.current = source;
      setChosen(source.name);
      show(source);
    },
    [show],
  );
  const showStore = useCallback(
    (found: Store) => {
      cancel();
      setStore(found);
      setChosen(found.name);
      writeAddress({ name: found.name, seq: 1, view: {} });
    },
    [cancel],
  );
  const showFound = useCallback(
    (found: Recognised) => (found.kind === "store" ? showStore(found) : showSource(found)),
    [showStore, showSource],
  );
  /** Opens something new, which the workspace keeps. */
  const openNew = useCallback(
    (found: Recognised, of?: { parent: string }) => {
      if (isElsewhere(found)) {
        showFound(found);
        return;
      }
      workspace.add(found, of).then(
        (named) => {
          showFound(named);
          if (named.kind === "store") {
            workspace.opened(named.name);
          }
        },
        (error: unknown) => fail(found.name, error),
      );
    },
    [showFound, workspace.add, workspace.opened, fail],
  );
  const openKept = useCallback(
    (name: string) => {
      acts.current = false;
      setChosen(name);
      workspace.source(name).then(
        (source) =>
          source === null
            ? fail(name, new Error("this browser has lost it: open it again"))
            : showFound(source),
        (error: unknown) => fail(name, error),
      );
    },
    [workspace.source, showFound, fail],
  );
  const choose = useCallback(
    (name: string) => {
      acts.current = false;
      const entry = cases?.find((known) => known.case === name);
      // An open document stays; one that failed or was cancelled is opened again.
      if (entry !== undefined && (bundled.current !== name || there.current !== name)) {
        showSource(sourceOfCase(entry));
        bundled.current = name;
      }
    },
    [cases, showSource],
  );
  const openFiles = useCallback(
    (name: string, files: Files) => {
      acts.current = false;
      recognise(name, files).then(openNew, (error: unknown) => fail(name, error));
    },
    [openNew, fail],
  );
  const arriving = useArrivals(openFiles, fail);
  const isLoaded = open !== null;
  const isServed = served !== null;
  useEffect(() => {
    // At this point the worker and the guest are loaded too.
    // What a server hands out must not be kept in a cache of this browser.
    if (isLoaded && !isServed) {
      keepOffline().catch((error: unknown) =>
        console.info("the page is not kept for offline use:", error),
      );
    }
  }, [isLoaded, isServed]);

  const isFirst = useRef(true);
  const areExamplesKnown = cases !== null || broken !== null;
  useEffect(() => {
    // What the address names may be a document or an example.
    if (!isFirst.current || documents === null || !areExamplesKnown) {
      return;
    }
    isFirst.current = false;
    const { name } = readAddress();
    if (name !== null && isKept(name)) {
      openKept(name);
      return;
    }
    try {
      const sent = carried(location.hash);
      if (sent !== null) {
        const lines = new Blob([sent.ledger]);
        showSource({ kind: "ledger", name: sent.name, shows: "sent in a link", lines });
        return;
      }
    } catch {
      fail(
        "the ledger in this link",
        new Error("the link is cut or changed: ask for it again, or for the file"),
      );
    }
    if (isServed && (name ?? AGENT).startsWith(AGENT)) {
      return;
    }
    const known = (wanted: string | null) => cases?.find((entry) => entry.case === wanted);
    const first = known(name) ?? known(INTRODUCTION) ?? cases?.[0];
    if (first !== undefined) {
      choose(first.case);
    }
  }, [documents, areExamplesKnown, cases, isKept, openKept, choose, showSource, fail, isServed]);
  const openAgent = useOpenAgent(served, showSource, fail);
  useFollowed(served, open, follow);
  const isLive = open?.kind === "live";
  const watch = useCallback(
    () =>
      showSource({
        kind: "live",
        name: LIVE,
        shows: "The agent runs in this page. Its ledger stays in this browser.",
        lines: [...live.lines],
      }),
    [showSource, live.lines],
  );
  useEffect(() => {
    if (isLive) {
      follow(live.lines);
    }
  }, [isLive, follow, live.lines]);
  // Only a person asks for the live agent's ledger: by its address, by starting it, or by a button.
  const wantsLive = useRef(readAddress().name === LIVE);
  const isLiveThere = live.lines.length > 0;
  useEffect(() => {
    if (isLiveThere && wantsLive.current) {
      wantsLive.current = false;
      if (there.current !== LIVE) {
        watch();
      }
    }
  }, [isLiveThere, watch]);
  const started = useMemo<Live>(
    () => ({
      ...live,
      open: () => {
        wantsLive.current = true;
        return live.open();
      },
    }),
    [live],
  );
  const livePanel = <LivePane live={started} show={isLiveThere && !isLive ? watch : null} />;
  useArrival(open?.id ?? null);

  useEffect(
    () =>
      onAddress(({ name }) => {
        if (name !== null && name !== chosen) {
          const agent = agentOf(name);
          if (isKept(name)) {
            openKept(name);
          } else if (agent !== null && served !== null) {
            openAgent(agent);
          } else {
            choose(name);
          }
        }
      }),
    [chosen, choose, isKept, openKept, openAgent, served],
  );

  const removeKept = (name: string) => {
    const names = (documents ?? []).map((kept) => kept.name);
    const at = names.indexOf(name);
    workspace.remove(name);
    if (open?.name === name) {
      const neighbour = names[at + 1] ?? names[at - 1];
      if (neighbour !== undefined) {
        openKept(neighbour);
      } else {
        choose(INTRODUCTION);
      }
    }
  };
  const openName = open?.name ?? null;
  const failedName = failed?.name ?? null;
  useEffect(() => {
    if (openName !== null) {
      workspace.opened(openName);
    }
  }, [openName, open?.id, workspace.opened]);
  useEffect(() => {
    if (failedName !== null) {
      workspace.notOpened(failedName);
    }
  }, [failedName, failed, workspace.notOpened]);
  const cancelOpening = () => {
    cancel();
    if (opening !== null) {
      workspace.notOpened(opening.name);
    }
  };
  const shownName = opening?.name ?? store?.name ?? openName ?? chosen;
  const kept = documents?.find((document) => document.name === open?.name);
  const moved = useCallback(
    (seq: number | null) => open !== null && workspace.moved(open.name, seq),
    [open?.name, workspace.moved],
  );
  const annotate = (notes: Note[]) => {
    if (open === null) {
      return;
    }
    if (kept === undefined && shown.current !== null) {
      // An example with notes becomes a document, because examples are not kept.
      void workspace.add(shown.current, { notes }).then(({ name }) => workspace.opened(name));
    } else {
      workspace.annotate(open.name, notes);
    }
  };

  return (
    <div className="workbench" data-arriving={arriving}>
      <CaseList
        cases={cases}
        chosen={isKept(shownName) ? null : shownName}
        choose={choose}
        served={
          served &&
          ((search) => (
            <ServedList
              served={served}
              chosen={agentOf((opening ?? open)?.name ?? chosen)}
              search={search}
              open={openAgent}
            />
          ))
        }
        openFiles={openFiles}
        fail={fail}
        open={open}
        hasOwn={(documents?.length ?? 0) > 0 || isServed}
        documents={(search) => (
          <WorkspaceTree
            workspace={workspace}
            chosen={shownName}
            search={search}
            choose={openKept}
            remove={removeKept}
          />
        )}
      />
      <main className="main" aria-busy={opening !== null}>
        {broken !== null && <Alarm title="The examples are missing" error={{ message: broken }} />}
        {failed !== null && (
          <Alarm title={`${failed.name} cannot be opened`} error={failed.error} dismiss={dismiss} />
        )}
        {opening !== null && (
          <Opening name={opening.name} progress={opening.progress} cancel={cancelOpening} />
        )}
        {open === null && opening === null && store === null && (
          <Nothing live={livePanel} showLive={() => tabs.what[1]("live")} />
        )}
        {store !== null && (
          <StoreView
            store={store}
            open={(at, isToAct) => {
              const agent = store.agents[at];
              if (agent !== undefined) {
                acts.current = isToAct;
                const name = nameInStore(agent, store);
                openNew({ ...agent.source, name }, { parent: store.name });
              }
            }}
          />
        )}
        {open !== null && store === null && (
          <OpenDocument
            key={open.id}
            open={open}
            show={openNew}
            fail={fail}
            tabs={tabs}
            live={livePanel}
            acts={isLive ? live.acts : null}
            stood={workspace.stood(open.name)}
            moved={moved}
            notes={kept?.notes ?? NO_NOTES}
            annotate={annotate}
            place={placeOf(open, kept)}
            isToAct={acts}
          />
        )}
      </main>
    </div>
  );
}

const NO_NOTES: readonly Note[] = [];

/** The place in which the agent of a document lives. */
function placeOf(open: Open, kept: Kept | undefined): Place {
  const agent = agentOf(open.name);
  if (kept?.from != null) {
    // An older page did not keep who runs the turns.
    return { in: "file", ...kept.from, turns: kept.from.turns ?? null };
  }
  return open.kind === "served" && agent !== null
    ? { in: "server", url: location.origin, agent }
    : { in: "nowhere" };
}

/** The names of the documents of served agents begin with this. */
const AGENT = "agent ";

/** The agent of a document's name; null if it is not of a served agent. */
function agentOf(name: string | null): string | null {
  return name?.startsWith(AGENT) === true ? name.slice(AGENT.length) : null;
}

/**
 * Opens agents of the server. At first it opens the one that the address names, else one that
 * waits for a person, else the first.
 */
function useOpenAgent(
  served: Served | null,
  show: (source: Source) => void,
  fail: (name: string, error: unknown) => void,
): (id: string) => void {
  const watch = served?.watch;
  const openAgent = useCallback(
    (id: string) => {
      watch?.(id).then(
        (lines) =>
          show({
            kind: "served",
            name: `${AGENT}${id}`,
            shows: "An agent of this server. New entries appear as they are recorded.",
            lines: [...lines],
          }),
        (error: unknown) => {
          // Another one was chosen meanwhile.
          if (!(error instanceof DOMException && error.name === "AbortError")) {
            fail(`${AGENT}${id}`, error);
          }
        },
      );
    },
    [watch, show, fail],
  );
  const isFirst = useRef(true);
  const agents = served?.agents ?? null;
  useEffect(() => {
    if (agents === null || agents.length === 0 || !isFirst.current) {
      return;
    }
    isFirst.current = false;
    const named = readAddress().name;
    if (named !== null && agentOf(named) === null) {
      return;
    }
    const first =
      agents.find(({ id }) => id === agentOf(named)) ??
      agents.find(({ posture }) => posture === "waiting_for_operator") ??
      agents[0];
    if (first !== undefined) {
      openAgent(first.id);
    }
  }, [agents, openAgent]);
  return openAgent;
}

/** Adds to the open document what the server says of its agent. */
function useFollowed(
  served: Served | null,
  open: Open | null,
  follow: (lines: readonly string[]) => void,
) {
  const watched = served?.watched ?? null;
  const isOpen = open?.kind === "served" && watched !== null && agentOf(open.name) === watched.id;
  useEffect(() => {
    if (isOpen && watched !== null) {
      follow(watched.lines);
    }
  }, [isOpen, watched, follow]);
}

function Opening({
  name,
  progress,
  cancel,
}: {
  name: string;
  progress: Progress | null;
  cancel: () => void;
}) {
  // A fast opening shows no progress, because a flash would only distract.
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 250);
    return () => clearTimeout(timer);
  }, []);
  if (!late) {
    return null;
  }
  return (
    <section className="opening" aria-label="opening">
      <span className="unseen" role="status">
        Opening {name}
      </span>
      <span aria-hidden>
        Opening {name}
        {progress !== null &&
          `: ${progress.doing} ${progress.done.toLocaleString("en")} of ${progress.of.toLocaleString("en")} ${progress.unit}`}
      </span>
      <progress value={progress?.done ?? 0} max={progress?.of ?? 1} aria-label="opening" />
      <button type="button" className="quiet" onClick={cancel}>
        Cancel
      </button>
    </section>
  );
}

/** The name of the live agent's document. */
const LIVE = "live agent";
