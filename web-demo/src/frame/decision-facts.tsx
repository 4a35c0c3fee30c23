// The decision: kind, reason, rule and evidence.
import { memo } from "react";
import type { Decision } from "@package/payloads.js";

import { SeqLinks } from "../parts/seq-link.tsx";

/** The facts of a decision, in a row with a fixed height. */
export const DecisionFacts = memo(function DecisionFacts({ decision }: { decision: Decision }) {
  const about = [decision.message_id, decision.work_item_id, decision.task_id].filter(
    (id) => id != null,
  );
  return (
    <section className="decision" aria-label="decision">
      <h2 className="unseen">Decision</h2>
      <dl className="decision-facts">
        <Fact name="Next decision" value={decision.decision} strong />
        <Fact name="Reason" value={decision.reason} />
        <Fact name="Rule" value={decision.rule} />
        <Fact name="About" value={about.length === 0 ? "none" : about.join(", ")} />
        <Fact name="Model" value={decision.model_reentry ? "re-entered" : "not re-entered"} />
      </dl>
      <div className="decision-evidence">
        <h3>Evidence</h3>
        <ul className="chips" aria-label="evidence">
          {decision.evidence.map((text) => (
            <li key={text} className="chip">
              {text}
            </li>
          ))}
          {decision.because?.map((reason) => (
            <li key={reason.code} className="chip chip-because">
              {reason.code} <SeqLinks seqs={reason.seqs} />
            </li>
          ))}
          {decision.ignored?.map((passed) => (
            <li key={passed.what} className="chip chip-ignored">
              skipped {passed.what}, {passed.reason} <SeqLinks seqs={passed.seqs} />
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
});

function Fact({ name, value, strong = false }: { name: string; value: string; strong?: boolean }) {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd className={strong ? "strong" : ""} title={value}>
        {value}
      </dd>
    </div>
  );
}
