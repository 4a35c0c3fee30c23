// The ladder: every rule in order, what it says, and what it said here.
import { useEffect, useRef } from "react";
import type { RuleTrace } from "@shell/payloads.js";

import { Pane } from "../parts/pane.tsx";
import { SeqLink } from "../parts/seq-link.tsx";

/** All rules; the one that fired is kept in view. */
export function LadderPane({ rules }: { rules: RuleTrace[] }) {
  const body = useRef<HTMLDivElement>(null);
  const fired = rules.find((rule) => rule.outcome === "fired")?.rule;
  useEffect(() => {
    body.current?.querySelector("[data-outcome=fired]")?.scrollIntoView({ block: "nearest" });
  }, [fired]);
  return (
    <Pane title="Ladder" note={`${rules.length} rules, the first that holds fires`} body={body}>
      <ol className="ladder">
        {rules.map((rule) => (
          <li key={rule.rule} className="rule" data-outcome={rule.outcome}>
            <span className="rule-id">{rule.rule}</span>
            <span className="rule-outcome">{rule.outcome}</span>
            <span className="rule-says">{rule.says}</span>
            <RuleReason rule={rule} />
          </li>
        ))}
      </ol>
    </Pane>
  );
}

function RuleReason({ rule }: { rule: RuleTrace }) {
  switch (rule.outcome) {
    case "false":
      return <span className="rule-reason">not {rule.atom}</span>;
    case "suppressed":
      return (
        <span className="rule-reason">
          {rule.keys.map((spent) => (
            <span key={spent.key} className="spent">
              {spent.key} spent by <SeqLink seq={spent.spent_by} />
            </span>
          ))}
        </span>
      );
    default:
      return null;
  }
}
