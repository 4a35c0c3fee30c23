// The workbench. It holds what is shown (document, entry, boundary, supposition); everything below
// it only shows that.
import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";

import { EDITIONS, names } from "./case/labels.ts";
import { sourceOfCase, useBundle } from "./document/bundle-cases.ts";
import { useDecided } from "./document/use-decided.ts";
import { useDocuments, useSeen, type Open } from "./document/use-document.ts";
import type { Look, Seen, Supposed } from "./document/messages.ts";
import { sourceOf, type Files, type Source } from "./document/source.ts";
import { Alarm } from "./frame/alarm.tsx";
import { CaseList } from "./frame/case-list.tsx";
import { CursorBar } from "./frame/cursor-bar.tsx";
import { DecisionFacts } from "./frame/decision-facts.tsx";
import { Heading } from "./frame/heading.tsx";
import { Keys } from "./frame/keys.tsx";
import { useArrivals } from "./frame/arrivals.ts";
import { LivePane } from "./live/live-pane.tsx";
import { useLive, type Live } from "./live/use-live.ts";
import { DiffPane } from "./panes/diff-pane.tsx";
import { EntriesPane } from "./panes/entries-pane.tsx";
import { LadderPane } from "./panes/ladder-pane.tsx";
import { StatePane } from "./panes/state-pane.tsx";
import { TimelinePane } from "./panes/timeline-pane.tsx";
import { WhyNotPane } from "./panes/why-not-pane.tsx";
import { onAddress, readAddress, writeAddress } from "./parts/address.ts";
import { keepOffline } from "./parts/offline.ts";
import { carried } from "./parts/permalink.ts";
import { SelectEntry } from "./parts/seq-link.tsx";
import { ServedList } from "./server/served-list.tsx";
import { useServed, type Served } from "./server/use-served.ts";
import { Tabs, type Chosen } from "./parts/tabs.tsx";

/** The case that is shown to those who ask for none: it has a bit of everything. */
const INTRODUCTION = "heartbeat";

/** The page. */
export function Workbench() {
  const { cases, broken } = useBundle();
  const { open, opening, failed, show, follow, fail, cancel, dismiss } = useDocuments();
  const live = useLive();
  const served = useServed();
  const [{ why, what }] = useState(() => readAddress().view);
  const tabs = { why: useState(why ?? null), what: useState(what ?? null) };
  const [chosen, setChosen] = useState<string | null>(null);
  /** The case that was opened last, and what is open or opening. */
  const bundled = useRef<string | null>(null);
  const there = useRef<string | null>(null);
  there.current = (opening ?? open)?.name ?? null;

  const showSource = useCallback(
    (source: Source) => {
      bundled.current = null;
      setChosen(source.name);
      show(source);
    },
    [show],
  );
  const choose = useCallback(
    (name: string) => {
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
      try {
        showSource(sourceOf(name, files));
      } catch (error) {
        fail(name, error);
      }
    },
    [showSource, fail],
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

  useEffect(() => {
    if (cases === null) {
      return;
    }
    try {
      const sent = carried(location.hash);
      if (sent !== null) {
        showSource({ kind: "ledger", name: sent.name, shows: "sent in a link", text: sent.ledger });
        return;
      }
    } catch {
      fail(
        "the ledger in this link",
        new Error("the link is cut or changed: ask for it again, or for the file"),
      );
    }
    if (isServed && (readAddress().name ?? AGENT).startsWith(AGENT)) {
      return;
    }
    const named = (name: string | null) => cases.find((entry) => entry.case === name);
    const first = named(readAddress().name) ?? named(INTRODUCTION) ?? cases[0];
    if (first !== undefined) {
      choose(first.case);
    }
  }, [cases, choose, showSource, fail, isServed]);
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
  const livePanel = <LivePanel live={live} isWatched={isLive || chosen === LIVE} watch={watch} />;

  useEffect(
    () => onAddress(({ name }) => name !== null && name !== chosen && choose(name)),
    [chosen, choose],
  );

  return (
    <div className="workbench" data-arriving={arriving}>
      <CaseList
        cases={cases}
        chosen={(opening ?? open)?.name ?? chosen}
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
      />
      <main className="main" aria-busy={opening !== null}>
        {broken !== null && (
          <Alarm title="The bundled cases cannot be read" error={{ message: broken }} />
        )}
        {failed !== null && (
          <Alarm title={`${failed.name} cannot be opened`} error={failed.error} dismiss={dismiss} />
        )}
        {opening !== null && (
          <Opening name={opening.name} progress={opening.progress} cancel={cancel} />
        )}
        {open !== null && (
          <OpenDocument
            key={open.id}
            open={open}
            show={showSource}
            fail={fail}
            tabs={tabs}
            live={livePanel}
            acts={isLive ? live.acts : null}
          />
        )}
      </main>
    </div>
  );
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
  progress: { doing: string; done: number; of: number } | null;
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
    <section className="opening" role="status">
      <span>
        Opening {name}
        {progress !== null &&
          `: ${progress.doing} ${progress.done.toLocaleString("en")} of ${progress.of.toLocaleString("en")} entries`}
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

/** The live agent's panel. While it is visible, the page shows its ledger. */
function LivePanel({
  live,
  isWatched,
  watch,
}: {
  live: Live;
  isWatched: boolean;
  watch: () => void;
}) {
  const isThere = live.lines.length > 0;
  useEffect(() => {
    if (isThere && !isWatched) {
      watch();
    }
  }, [isThere, isWatched, watch]);
  return <LivePane live={live} />;
}

function OpenDocument(props: {
  open: Open;
  show: (source: Source) => void;
  fail: (name: string, error: unknown) => void;
  tabs: { why: Chosen; what: Chosen };
  live: ReactNode;
  /** The actions on the live agent, if it is open and all of them are known. */
  acts: readonly string[] | null;
}) {
  const { open, show, fail, tabs } = props;
  const [seq, setSeq] = useState(() =>
    Math.max(1, Math.min(open.length, addressed(open.name) ?? open.length)),
  );
  const [mark, setMark] = useState<number | null>(null);
  const [boundary, setBoundary] = useState<Look["boundary"]>(undefined);
  const [supposed, setSupposed] = useState(() => addressedEdition(open.name));
  const look = useMemo<Look>(() => ({ seq, boundary, supposed }), [seq, boundary, supposed]);
  const answer = useSeen(open.document, look);
  const decided = useDecided(open, undefined);
  const goTo = useCallback(
    (to: number) => setSeq(Math.max(1, Math.min(open.length, to))),
    [open.length],
  );

  // At the end of a growing ledger, the cursor follows it.
  const length = useRef(open.length);
  useEffect(() => {
    const before = length.current;
    length.current = open.length;
    setSeq((at) => (at === before ? open.length : at));
  }, [open.length]);
  const [[why], [what], edition] = [tabs.why, tabs.what, supposed?.edition];
  useEffect(
    () =>
      writeAddress({
        name: open.name,
        seq,
        view: { why: why ?? undefined, what: what ?? undefined, edition },
      }),
    [open.name, seq, why, what, edition],
  );
  useEffect(
    () =>
      onAddress(
        (address) => address.name === open.name && address.seq !== null && goTo(address.seq),
      ),
    [open.name, goTo],
  );

  const fork = useCallback(
    (facts: string[]) => {
      open.document.fork(seq, facts).then(show, (error: unknown) => fail(open.name, error));
    },
    [open, seq, show, fail],
  );
  // The last view stays beside an error, so that its cause can be undone.
  const [seen, setSeen] = useState<Seen | null>(null);
  if (answer !== null && "ok" in answer && answer.ok !== seen) {
    setSeen(answer.ok);
  }
  return (
    <SelectEntry value={{ selected: seq, select: goTo }}>
      <Heading
        open={open}
        seen={seen}
        seq={seq}
        goTo={goTo}
        fail={fail}
        fork={fork}
        acts={props.acts}
      />
      {answer !== null && "error" in answer && (
        <Alarm title="This entry cannot be looked at" error={answer.error} />
      )}
      {seen === null ? (
        <section className="decision" aria-hidden />
      ) : (
        <DecisionFacts decision={seen.explanation.decision} />
      )}
      <CursorBar
        open={open}
        seq={seq}
        goTo={goTo}
        mark={mark}
        setMark={setMark}
        decided={decided}
        seen={seen}
        boundary={boundary}
        setBoundary={setBoundary}
      />
      <TimelinePane open={open} seq={seq} mark={mark} goTo={goTo} decided={decided} />
      <div className="panes">
        <Tabs
          label="Why"
          chosen={tabs.why}
          tabs={[
            {
              name: "Ladder",
              body: seen && (
                <LadderPane
                  explanation={seen.explanation}
                  supposed={supposed}
                  suppose={setSupposed}
                />
              ),
            },
            { name: "Why not", body: seen && <WhyNotPane open={open} seen={seen} fork={fork} /> },
          ]}
        />
        <Tabs
          label="What"
          chosen={tabs.what}
          tabs={[
            { name: "State", body: seen && <StatePane open={open} seen={seen} /> },
            {
              name: "Diff",
              body: <DiffPane open={open} seq={seq} mark={mark} decided={decided} goTo={goTo} />,
            },
            { name: "Live", body: props.live },
          ]}
        />
        <EntriesPane open={open} seq={seq} goTo={goTo} />
      </div>
      <Keys />
    </SelectEntry>
  );
}

function addressed(name: string): number | null {
  const address = readAddress();
  return address.name === name ? address.seq : null;
}

function addressedEdition(name: string): Supposed | undefined {
  const address = readAddress();
  const edition = names(EDITIONS).find(
    (known) => address.name === name && known === address.view.edition,
  );
  return edition === undefined ? undefined : { edition };
}
