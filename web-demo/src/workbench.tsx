// The workbench: the one place that holds what is looked at (case, step, entry); everything below shows it.
import { useCallback, useEffect, useMemo, useState } from "react";

import { entriesUpTo, clockAt, stepOf } from "./case/history.ts";
import type { Played } from "./case/trace.ts";
import { CaseList } from "./frame/case-list.tsx";
import { DecisionFacts } from "./frame/decision-facts.tsx";
import { Heading } from "./frame/heading.tsx";
import { Stepper } from "./frame/stepper.tsx";
import { useGuest } from "./guest/use-guest.ts";
import { EntriesPane } from "./panes/entries-pane.tsx";
import { LadderPane } from "./panes/ladder-pane.tsx";
import { StatePane } from "./panes/state-pane.tsx";
import { SelectEntry } from "./parts/seq-link.tsx";
import { onAddress, readAddress, writeAddress } from "./parts/address.ts";

/** The page. */
export function Workbench() {
  const { cases, broken, played, failed, play } = useGuest();
  const [chosen, setChosen] = useState<string | null>(null);
  const choose = useCallback(
    (name: string) => {
      setChosen(name);
      play(name);
    },
    [play],
  );

  useEffect(() => {
    const first = cases?.find((line) => line.case === readAddress().case) ?? cases?.[0];
    if (first !== undefined) {
      choose(first.case);
    }
  }, [cases, choose]);
  useEffect(
    () =>
      onAddress((address) => {
        if (address.case !== chosen && cases?.some((known) => known.case === address.case)) {
          choose(address.case ?? "");
        }
      }),
    [cases, chosen, choose],
  );

  const line = cases?.find((known) => known.case === played?.case);
  return (
    <div className="workbench">
      <CaseList cases={cases} chosen={chosen} choose={choose} played={played} />
      <main className="main" aria-busy={played?.case !== chosen}>
        {broken !== null && <Alarm title="The guest cannot run" message={broken} />}
        {failed !== null && <Alarm title={`${failed.case} cannot be played`} message={failed.message} />}
        {broken === null && failed === null && played !== null && (
          <PlayedCase key={played.case} played={played} kind={line?.kind ?? "story"} shows={line?.shows ?? ""} />
        )}
      </main>
    </div>
  );
}

function PlayedCase({ played, kind, shows }: { played: Played; kind: "fixture" | "story"; shows: string }) {
  const { steps } = played;
  const last = steps.length - 1;
  const [step, setStep] = useState(() => (readAddress().case === played.case ? Math.min(readAddress().step ?? last, last) : last));
  const [seq, setSeq] = useState<number | null>(null);
  const goTo = useCallback((to: number) => setStep(Math.max(0, Math.min(last, to))), [last]);
  const select = useCallback(
    (entry: number) => {
      const wrote = stepOf(steps, entry);
      if (wrote !== null) {
        setSeq(entry);
        setStep((at) => Math.max(at, wrote));
      }
    },
    [steps],
  );

  useEffect(() => writeAddress({ case: played.case, step }), [played.case, step]);
  useEffect(() => onAddress((address) => address.case === played.case && address.step !== null && goTo(address.step)), [played.case, goTo]);
  useArrowKeys(step, goTo);

  const { entries, newFrom } = useMemo(() => entriesUpTo(steps, step), [steps, step]);
  const now = useMemo(() => clockAt(steps, step), [steps, step]);
  const at = steps[step];
  if (at === undefined) {
    return <Alarm title="The trace is empty" message="the guest played no step: rebuild it with `cargo xtask serve`" />;
  }
  return (
    <SelectEntry value={{ selected: seq, select }}>
      <Heading name={played.case} kind={kind} shows={shows} explanation={at.explanation} now={now} verdict={played.verdict} goTo={goTo} />
      <DecisionFacts decision={at.explanation.decision} />
      <Stepper steps={steps} step={step} goTo={goTo} />
      <div className="panes">
        <LadderPane rules={at.explanation.rules} />
        <StatePane explanation={at.explanation} state={played.states[step] ?? {}} now={now} />
        <EntriesPane entries={entries} newFrom={newFrom} lines={played.lines} />
      </div>
    </SelectEntry>
  );
}

/** Left and right go a step back and on, wherever the focus is, unless what has it needs these keys itself. */
function useArrowKeys(step: number, goTo: (step: number) => void) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
      const target = event.target instanceof Element ? event.target : null;
      const taken = event.ctrlKey || event.metaKey || event.altKey || target?.closest("input, [role=tree]") != null;
      if (by !== 0 && !taken) {
        event.preventDefault();
        goTo(step + by);
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [step, goTo]);
}

function Alarm({ title, message }: { title: string; message: string }) {
  return (
    <section className="alarm" role="alert">
      <h1>{title}</h1>
      <p>{message}</p>
    </section>
  );
}
