// The ladder: every rule in order, what it says, and what it said here.
import { useEffect, useRef } from "react";
import type { RuleTrace, Spent } from "@package/payloads.js";

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
            <span className="rule-outcome" title={rule.outcome === "false" ? rule.atom : undefined}>
              {rule.outcome}
              {rule.outcome === "false" && <code> {rule.atom}</code>}
            </span>
            <span className="rule-says">{rule.says}</span>
            {rule.outcome === "suppressed" && <SpentKeys keys={rule.keys} />}
          </li>
        ))}
      </ol>
    </Pane>
  );
}

function SpentKeys({ keys }: { keys: Spent[] }) {
  return (
    <ul className="rule-keys">
      {keys.map((spent) => (
        <li key={spent.key}>
          {spent.key} spent by <SeqLink seq={spent.spent_by} />
        </li>
      ))}
    </ul>
  );
}
