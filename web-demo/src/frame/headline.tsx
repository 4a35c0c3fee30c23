// What must be known first: notices, the sentence about the agent, since when, and the next act.
import { useEffect, useState, type RefObject } from "react";
import type { Act, Notice } from "@package/payloads.js";

import { clockTime, lasts } from "../case/clock.ts";
import type { Report, Seen } from "../document/messages.ts";
import { holdsAt, type Changes } from "../document/use-decided.ts";
import type { Open } from "../document/use-document.ts";
import { useRows } from "../document/use-rows.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { Modal, ModalButtons } from "../parts/modal.tsx";
import { Said } from "../parts/said.tsx";
import { SeqLinks } from "../parts/seq-link.tsx";
import { visible } from "../parts/visible.ts";
import {
  adviceFor,
  commandFor,
  factsFor,
  insteadFor,
  labelOf,
  needsWords,
  opensWith,
  type Asked,
  type Place,
} from "./acts.ts";

/** What the headline needs of its document. */
export interface Spoken {
  /** Null until the core has answered. The heading is there before, so that it keeps the focus. */
  seen: Seen | null;
  seq: number;
  decided: Changes;
  open: Open;
  /** The time of the reader, if the document is about now; else null. */
  now: number | null;
  place: Place;
  /** Whether the document was opened for the next act. It is so once. */
  isToAct: RefObject<boolean>;
  /** What the document shows. */
  shows: string;
  goTo: (seq: number) => void;
  fork: (facts: string[]) => void;
  /** Shows all that would lead to a turn. */
  askWhatElse: () => void;
  /** Acts on the agent in this page; null for other documents. */
  act: (() => void) | null;
}

/** The headline. */
export function Headline(spoken: Spoken) {
  const { open, seen, seq, decided } = spoken;
  const [asked, setAsked] = useState<Asked | null>(null);
  const { notices, next } = seen?.headline ?? { notices: [], next: null };
  const sentence = visible(seen?.explanation.sentence ?? "\u00a0");
  const isSupposed = seen?.look.supposed !== undefined;
  const since = decided.upTo >= seq ? holdsAt(decided, seq)?.seq : undefined;
  const told = [seq, since, ...notices.map((notice) => notice.seqs[0])];
  const rows = useRows(
    open,
    told.filter((of) => of !== undefined),
  );
  /** The instant of an entry; undefined while it is unknown. */
  const at = (of: number | undefined) => (of === undefined ? undefined : rows.get(of)?.at);
  const here = at(seq);
  // What the sentence expects has not come, so it must not read as if it were still to come.
  const isStale = spoken.now !== null && notices.some((notice) => notice.kind === "overdue");
  const took = (act: Act, notice: Notice | null) => {
    if (act.kind === "look") {
      spoken.goTo(Number(act.id ?? notice?.seqs[0] ?? seq));
    } else if (spoken.act !== null) {
      spoken.act();
    } else {
      setAsked({ act, notice: notice?.kind ?? null });
    }
  };
  const isAsked = spoken.act === null;
  const isSeen = seen !== null;
  useEffect(() => {
    const [first] = notices;
    const act = first?.act ?? next;
    if (isSeen && spoken.isToAct.current) {
      spoken.isToAct.current = false;
      if (act != null) {
        took(act, first ?? null);
      }
    }
    // Only the first look at the document counts.
  }, [isSeen]);
  return (
    <>
      {notices.length > 0 && (
        <ul className="notices" aria-label="what is wrong">
          {notices.map((notice) => (
            <li key={`${notice.kind} ${notice.says}`} className="notice" data-notice={notice.kind}>
              <span>
                <Said sentence={visible(notice.says)} />{" "}
                <Since then={at(notice.seqs[0])} here={here} now={spoken.now} />{" "}
                <SeqLinks seqs={notice.seqs} />
              </span>
              <ActButton
                asked={{ act: notice.act, notice: notice.kind }}
                isAsked={isAsked}
                take={() => took(notice.act, notice)}
              />
            </li>
          ))}
        </ul>
      )}
      <h1
        className="sentence"
        id="sentence"
        tabIndex={-1}
        title={sentence}
        data-supposed={isSupposed}
      >
        {isSupposed && <span className="supposing">If so: </span>}
        {isStale && <span className="supposing">As of #{seq}: </span>}
        <Said sentence={sentence} />
      </h1>
      <div className="heading-foot">
        {seq < open.length && (
          <button type="button" className="past" onClick={() => spoken.goTo(open.length)}>
            This is the past: to the newest entry
          </button>
        )}
        <span className="since">
          {!isSupposed && since !== undefined && at(since) !== undefined && (
            <>
              So since <Since then={at(since)} here={here} now={spoken.now} bare />{" "}
              <SeqLinks seqs={[since]} />
            </>
          )}
        </span>
        {next !== null && next !== undefined && !isNamed(next, notices) && (
          <ActButton
            asked={{ act: next, notice: null }}
            isAsked={isAsked}
            take={() => took(next, null)}
          />
        )}
        {seen !== null && (
          <button type="button" className="link" onClick={spoken.askWhatElse}>
            What would change it?
          </button>
        )}
        <p className="shows" title={spoken.shows}>
          {spoken.shows}
        </p>
      </div>
      {asked !== null && <ActDialog asked={asked} spoken={spoken} close={() => setAsked(null)} />}
    </>
  );
}

/** Whether a notice offers an act already. */
function isNamed(act: Act, notices: readonly Notice[]): boolean {
  return notices.some((notice) => notice.act.kind === act.kind);
}

/** Since when something is so, beside the time of the reader or of the entry at the cursor. */
function Since({
  then,
  here,
  now,
  bare = false,
}: {
  then: string | undefined;
  here: string | undefined;
  now: number | null;
  bare?: boolean;
}) {
  if (then === undefined || here === undefined) {
    return null;
  }
  const beside = now === null ? here : new Date(now).toISOString();
  const ms = Date.parse(beside) - Date.parse(then);
  return (
    <span className="note">
      {bare ? "" : "Since "}
      <time dateTime={then} title={then}>
        {clockTime(then, beside)} UTC
      </time>
      {ms >= 1_000 && ` (${lasts(ms)})`}
    </span>
  );
}

function ActButton({
  asked,
  isAsked,
  take,
}: {
  asked: Asked;
  /** Whether a dialog asks first. */
  isAsked: boolean;
  take: () => void;
}) {
  return (
    <button type="button" className="act" data-act={asked.act.kind} onClick={take}>
      {isAsked ? opensWith(asked) : labelOf(asked)}
    </button>
  );
}

/** What the agent reported last, in which it may have asked. */
function LastReport({ spoken: { open, seq } }: { spoken: Spoken }) {
  const [report, setReport] = useState<Report | null>(null);
  useEffect(() => {
    let stays = true;
    void open.document.lastReport(seq).then((found) => stays && setReport(found));
    return () => {
      stays = false;
    };
  }, [open, seq]);
  return (
    report !== null && (
      <figure className="dialog-report">
        <figcaption>What it reported last, at #{report.seq}:</figcaption>
        <blockquote tabIndex={0} aria-label="its report">
          {report.text}
        </blockquote>
      </figure>
    )
  );
}

/** How an act is done: with a command, or tried in a fork. */
function ActDialog({ asked, spoken, close }: { asked: Asked; spoken: Spoken; close: () => void }) {
  const [typed, setTyped] = useState("");
  const words = typed.trim() === "" ? undefined : typed;
  const command = commandFor(asked, spoken.place, words);
  const instead = insteadFor(asked, spoken.place);
  const facts = factsFor(asked, spoken.seq, words);
  return (
    <Modal title={labelOf(asked)} setOpen={close}>
      <p>{adviceFor(asked, spoken.place)}</p>
      {asked.act.kind === "answer" && <LastReport spoken={spoken} />}
      {needsWords(asked) && (
        <label className="dialog-words">
          Your words
          <textarea rows={2} value={typed} onChange={(event) => setTyped(event.target.value)} />
        </label>
      )}
      {command === null ? (
        <p>
          This page has a copy of the ledger and cannot reach the agent. Act on the agent where it
          lives.
        </p>
      ) : (
        <>
          <p>This page has a copy of the ledger. Where the agent lives, type:</p>
          <CommandLine command={command} />
        </>
      )}
      {instead !== null && (
        <>
          <p>{instead.says}</p>
          <CommandLine command={instead.command} />
        </>
      )}
      <ModalButtons>
        {facts !== null && (
          <button
            type="button"
            className="quiet"
            title="Copy the entries up to here, and see what the agent would do"
            onClick={() => {
              spoken.fork(facts);
              close();
            }}
          >
            Try it in a fork
          </button>
        )}
      </ModalButtons>
    </Modal>
  );
}
