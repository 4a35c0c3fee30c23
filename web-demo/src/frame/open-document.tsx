// An open document: its headline, the cursor, the timeline and the panes.
import {
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  type ReactNode,
  type RefObject,
} from "react";

import { EDITIONS, names } from "../case/labels.ts";
import type { Look, Seen, Supposed } from "../document/messages.ts";
import type { Source } from "../document/source.ts";
import { useDecided } from "../document/use-decided.ts";
import { useSeen, type Open } from "../document/use-document.ts";
import { DiffPane } from "../panes/diff-pane.tsx";
import { EntriesPane } from "../panes/entries-pane.tsx";
import { LadderPane } from "../panes/ladder-pane.tsx";
import { NotesPane } from "../panes/notes-pane.tsx";
import { OddPane } from "../panes/odd-pane.tsx";
import { StatePane } from "../panes/state-pane.tsx";
import { TimelinePane } from "../panes/timeline-pane.tsx";
import { WhyNotPane } from "../panes/why-not-pane.tsx";
import { onAddress, readAddress, writeAddress } from "../parts/address.ts";
import { SelectEntry } from "../parts/seq-link.tsx";
import { Tabs, type Chosen } from "../parts/tabs.tsx";
import { useCommands } from "../parts/use-commands.ts";
import type { Note } from "../workspace/keeping.ts";
import type { Place } from "./acts.ts";
import { Alarm } from "./alarm.tsx";
import { CursorBar } from "./cursor-bar.tsx";
import { DecisionFacts } from "./decision-facts.tsx";
import { Heading } from "./heading.tsx";
import { Headline } from "./headline.tsx";
import { Supposing } from "./supposing.tsx";

/** How often the page asks what is overdue, in milliseconds. */
const LOOK_MS = 30_000;

/** What an open document needs of the page. */
export interface Shown {
  open: Open;
  show: (source: Source) => void;
  fail: (name: string, error: unknown) => void;
  tabs: { why: Chosen; what: Chosen };
  live: ReactNode;
  /** The actions on the live agent, if it is open and all of them are known. */
  acts: readonly string[] | null;
  /** The entry at which the cursor stood last; null for the newest. */
  stood: number | null;
  moved: (seq: number | null) => void;
  notes: readonly Note[];
  annotate: (notes: Note[]) => void;
  /** The place in which its agent lives. */
  place: Place;
  /** Whether it was opened for the next act. It is so once. */
  isToAct: RefObject<boolean>;
}

/** The document. */
export function OpenDocument(shown: Shown) {
  const { open, show, fail, tabs, moved } = shown;
  const [seq, setSeq] = useState(() => {
    // The live agent went on since its address was written, and the panel acts on its newest entry.
    const at = open.kind === "live" ? null : (addressed(open.name) ?? shown.stood);
    return Math.max(1, Math.min(open.length, at ?? open.length));
  });
  const [mark, setMark] = useState<number | null>(null);
  const [boundary, setBoundary] = useState<Look["boundary"]>(undefined);
  const [supposed, setSupposed] = useState(() => addressedEdition(open.name));
  const isNewest = seq === open.length;
  const now = useNow(isAboutNow(open) && isNewest);
  const look = useMemo<Look>(
    () => ({
      seq,
      boundary,
      supposed,
      now: now === null ? undefined : new Date(now).toISOString(),
    }),
    [seq, boundary, supposed, now],
  );
  const answer = useSeen(open.document, look);
  const decided = useDecided(open, undefined);
  const goTo = useCallback(
    (to: number) => setSeq(Math.max(1, Math.min(open.length, to))),
    [open.length],
  );
  // A jump is a step that Back undoes.
  const isJump = useRef(false);
  const jumpTo = useCallback(
    (to: number) => {
      isJump.current = true;
      goTo(to);
    },
    [goTo],
  );

  // At the end of a growing ledger, the cursor follows it.
  const length = useRef(open.length);
  useEffect(() => {
    const before = length.current;
    length.current = open.length;
    setSeq((at) => (at === before ? open.length : at));
  }, [open.length]);
  const [[why], [what], edition] = [tabs.why, tabs.what, supposed?.edition];
  useEffect(() => {
    const view = { why: why ?? undefined, what: what ?? undefined, edition };
    writeAddress({ name: open.name, seq, view }, isJump.current);
    isJump.current = false;
  }, [open.name, seq, why, what, edition]);
  useEffect(() => moved(isNewest ? null : seq), [moved, seq, isNewest]);
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
  const selection = useMemo(() => ({ selected: seq, select: jumpTo }), [seq, jumpTo]);
  const odd = decided.oddities.length;
  const { notes, annotate } = shown;
  const notedAt = useMemo(() => new Set(notes.map((note) => note.seq)), [notes]);
  const noted = notedAt.has(seq);
  useCommands([
    { id: "document.fork", name: "Fork here", group: "Document", run: () => fork([]) },
    {
      id: "document.bookmark",
      name: noted ? "Remove the note at this entry" : "Bookmark this entry",
      group: "Document",
      keys: ["b"],
      run: () =>
        annotate(
          noted
            ? notes.filter((note) => note.seq !== seq)
            : [...notes, { seq, text: "" }].sort((left, right) => left.seq - right.seq),
        ),
    },
    {
      id: "document.recorded",
      name: "Show it as recorded",
      group: "Document",
      isAvailable: supposed !== undefined,
      run: () => setSupposed(undefined),
    },
  ]);
  return (
    <SelectEntry value={selection}>
      <Supposing supposed={supposed} end={() => setSupposed(undefined)} />
      <Heading
        open={open}
        seq={seq}
        notes={shown.notes}
        goTo={jumpTo}
        fail={fail}
        fork={fork}
        acts={shown.acts}
        isWhole={open.snapshot === 0 || decided.upTo >= open.length}
      >
        <Headline
          open={open}
          seen={seen}
          seq={seq}
          decided={decided}
          now={now}
          place={shown.place}
          isToAct={shown.isToAct}
          shows={open.shows}
          goTo={jumpTo}
          fork={fork}
          askWhatElse={() => tabs.why[1]("why-not")}
          act={open.kind === "live" ? () => tabs.what[1]("live") : null}
        />
      </Heading>
      {open.broken !== null && (
        <Alarm
          title={`Entry ${open.broken.seq} cannot be verified. It and all after it are left out`}
          error={open.broken.error}
        />
      )}
      {open.snapshot > 0 && decided.trouble !== null && (
        <Alarm
          title={`After entry ${decided.upTo}, before the snapshot, the ledger cannot be read`}
          error={decided.trouble}
        />
      )}
      {open.warnings.map((message) => (
        <Alarm key={message} title="Something may be missing" error={{ message }} />
      ))}
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
              body: <DiffPane open={open} seq={seq} mark={mark} decided={decided} goTo={jumpTo} />,
            },
            {
              name: "Odd",
              count: odd,
              body: <OddPane open={open} seq={seq} decided={decided} goTo={jumpTo} />,
            },
            {
              name: "Notes",
              count: shown.notes.length,
              body: <NotesPane notes={shown.notes} seq={seq} annotate={shown.annotate} />,
            },
            { name: "Live", body: shown.live },
          ]}
        />
        <EntriesPane open={open} seq={seq} goTo={goTo} noted={notedAt} />
      </div>
    </SelectEntry>
  );
}

/** Whether the newest entry of a document is about now. An example is about its own time. */
function isAboutNow({ kind }: Open): boolean {
  return kind === "ledger" || kind === "served";
}

/** The time of the reader, every half a minute; null if it does not matter. */
function useNow(matters: boolean): number | null {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!matters) {
      return;
    }
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), LOOK_MS);
    return () => clearInterval(timer);
  }, [matters]);
  return matters ? now : null;
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
