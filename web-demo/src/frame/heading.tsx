// The top of the page: which case this is, the sentence, and whether the guest did what the native core did.
import { useContext } from "react";
import type { Explanation } from "@package/payloads.js";

import { sentence } from "../case/sentence.ts";
import type { Verdict } from "../case/trace.ts";
import { SelectEntry } from "../parts/seq-link.tsx";
import { ThemeSwitch } from "../parts/theme-switch.tsx";

/** The heading of a played case. */
export function Heading(props: {
  name: string;
  kind: "fixture" | "story";
  shows: string;
  explanation: Explanation;
  now: string;
  verdict: Verdict;
  goTo: (step: number) => void;
}) {
  return (
    <header className="heading">
      <div className="heading-case">
        <span className="kind">{props.kind}</span>
        <span className="name">{props.name}</span>
        <span className="clock">clock {dateAndTime(props.now)} UTC</span>
        <VerdictBadge name={props.name} verdict={props.verdict} goTo={props.goTo} />
        <ThemeSwitch />
      </div>
      <h1 className="sentence">{sentence(props.explanation, props.now)}</h1>
      <p className="shows" title={props.shows}>
        {props.shows}
      </p>
    </header>
  );
}

function VerdictBadge({ name, verdict, goTo }: { name: string; verdict: Verdict; goTo: (step: number) => void }) {
  const { select } = useContext(SelectEntry);
  if (verdict.native === "none") {
    return (
      <span className="badge badge-none" data-case={name} data-verdict="none">
        no native trace
      </span>
    );
  }
  if (verdict.native === "equal") {
    return (
      <span className="badge badge-good" data-case={name} data-verdict="equal" title={`the whole history is ${verdict.chain}`}>
        head equals native <code>{verdict.chain.slice(0, 8)}</code>
      </span>
    );
  }
  const where = verdict.entry === null ? verdict.part : `entry ${verdict.entry}`;
  const show = () => {
    goTo(verdict.step);
    if (verdict.entry !== null) {
      select(verdict.entry);
    }
  };
  return (
    <button type="button" className="badge badge-bad" data-case={name} data-verdict="differs" onClick={show}>
      differs from native at step {verdict.step + 1}, {where}
    </button>
  );
}

function dateAndTime(instant: string): string {
  return instant.replace("T", " ").replace("Z", "");
}
