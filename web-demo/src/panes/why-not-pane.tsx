// Why not: select a decision, and see the smallest changes that would lead to it. One click applies
// them in a fork.
import { useEffect, useState } from "react";
import type { DecisionKind, WhyNot } from "@package/payloads.js";

import { DECISIONS } from "../case/labels.ts";
import type { Answer, Seen } from "../document/messages.ts";
import type { Open } from "../document/use-document.ts";
import { Alarm } from "../frame/alarm.tsx";
import { Choice } from "../parts/choice.tsx";
import { Pane } from "../parts/pane.tsx";
import { Said } from "../parts/said.tsx";

/** The ways to another decision. */
export function WhyNotPane({
  open,
  seen,
  fork,
}: {
  open: Open;
  seen: Seen;
  fork: (facts: string[]) => void;
}) {
  const [asked, setAsked] = useState<DecisionKind>("StartModelTurn");
  const [answer, setAnswer] = useState<Answer<WhyNot> | null>(null);
  const { look, boundary } = seen;
  useEffect(() => {
    let alive = true;
    setAnswer(null);
    void open.document.whyNot(look.seq, boundary, asked).then((told) => alive && setAnswer(told));
    return () => {
      alive = false;
    };
  }, [open, look.seq, boundary, asked]);
  const note = (
    <Choice
      says="Expected decision"
      of={DECISIONS}
      value={asked}
      choose={(name) => setAsked(name ?? asked)}
    />
  );
  return (
    <Pane title="Why not" note={note}>
      {look.supposed !== undefined && (
        <p className="note pad">
          Asked of the ledger as it was recorded, without what is supposed.
        </p>
      )}
      {answer === null && <p className="note pad">Asking the core</p>}
      {answer !== null && "error" in answer && (
        <Alarm title="The core cannot say" error={answer.error} />
      )}
      {answer !== null && "ok" in answer && <Ways told={answer.ok} fork={fork} />}
    </Pane>
  );
}

function Ways({ told, fork }: { told: WhyNot; fork: (facts: string[]) => void }) {
  if (told.asked === told.decision.decision) {
    return <p className="pad">This is the decision here, by rule {told.decision.rule}.</p>;
  }
  if (told.ways.length === 0) {
    return <p className="pad">The core knows no change that leads there from here.</p>;
  }
  return (
    <>
      <ol className="ways">
        {told.ways.map((way, index) => (
          <li key={way.says.join()} className="way">
            <ul>
              {way.says.map((says) => (
                <li key={says}>
                  <Said sentence={says} />
                </li>
              ))}
            </ul>
            <p className="note">
              then {DECISIONS[way.decision.decision]}, by rule <code>{way.decision.rule}</code>
            </p>
            <details>
              <summary>
                {way.facts.length === 1 ? "the fact" : `the ${way.facts.length} facts`}
              </summary>
              {way.facts.map((fact) => (
                <pre key={JSON.stringify(fact)}>{JSON.stringify(fact, null, 1)}</pre>
              ))}
            </details>
            <button
              type="button"
              className="quiet"
              aria-label={`Try it in a fork, way ${index + 1}`}
              onClick={() => fork(way.facts.map((fact) => JSON.stringify(fact)))}
            >
              Try it in a fork
            </button>
          </li>
        ))}
      </ol>
      {told.more !== undefined && <p className="note pad">and {told.more} other facts</p>}
    </>
  );
}
