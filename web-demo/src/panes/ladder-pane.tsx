// The ladder: every rule in order, with its result here, or under another edition or policy.
import { Fragment, memo, useEffect, useRef, useState } from "react";
import type { Edition, Explanation, Spent } from "@package/payloads.js";

import { EDITIONS, POLICY, POLICY_CHOICES, type PolicyField } from "../case/labels.ts";
import type { Supposed } from "../document/messages.ts";
import { Choice } from "../parts/choice.tsx";
import { Pane } from "../parts/pane.tsx";
import { SeqLink } from "../parts/seq-link.tsx";

/** All rules; the one that decided is kept in view. */
export const LadderPane = memo(function LadderPane({
  explanation,
  supposed,
  suppose,
}: {
  explanation: Explanation;
  supposed: Supposed | undefined;
  suppose: (supposed: Supposed | undefined) => void;
}) {
  const { rules } = explanation;
  const body = useRef<HTMLDivElement>(null);
  const fired = rules.find((rule) => rule.outcome === "fired")?.rule;
  const order = rules.map(({ rule }) => rule).join();
  useEffect(() => {
    keepInView(body.current, body.current?.querySelector("[data-outcome=fired]"));
  }, [fired, order]);
  return (
    <Pane title="Ladder" note={<Suppose supposed={supposed} suppose={suppose} />} body={body}>
      <p className="note pad">The rules, in their order. The first one that holds decides.</p>
      <ol className="ladder">
        {rules.map((rule) => (
          <li key={rule.rule} className="rule" data-outcome={rule.outcome}>
            <span className="rule-id">{rule.rule}</span>
            <span className="rule-outcome" title={rule.outcome === "false" ? rule.atom : undefined}>
              {rule.outcome === "fired" && "▶ "}
              {rule.outcome}
              {rule.outcome === "false" && (
                <code>
                  {" "}
                  <Breakable name={rule.atom} />
                </code>
              )}
            </span>
            <span className="rule-says">{rule.says}</span>
            {rule.outcome === "suppressed" && <SpentKeys keys={rule.keys} />}
          </li>
        ))}
      </ol>
    </Pane>
  );
});

/** A long name, which a narrow pane may break after its underscores. */
function Breakable({ name }: { name: string }) {
  return name.split(/(?<=_)/).map((part, index) => (
    <Fragment key={index}>
      {part}
      <wbr />
    </Fragment>
  ));
}

/** The margin around the rule that decided. */
const AROUND_PX = 44;

/**
 * Scrolls only the pane. `scrollIntoView` would also scroll the page if the pane is below the fold.
 */
function keepInView(pane: Element | null, rule: Element | null | undefined) {
  if (pane !== null && rule != null) {
    const [seen, at] = [pane.getBoundingClientRect(), rule.getBoundingClientRect()];
    const [above, below] = [at.top - AROUND_PX - seen.top, at.bottom + AROUND_PX - seen.bottom];
    pane.scrollTop += above < 0 ? above : Math.max(0, below);
  }
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

/** The supposition. It changes only what is shown. */
function Suppose({
  supposed,
  suppose,
}: {
  supposed: Supposed | undefined;
  suppose: (supposed: Supposed | undefined) => void;
}) {
  const [value, setValue] = useState<PolicyField>("autonomous_turns");
  const given = supposed?.policy?.[value];
  const { edition, policy } = supposed ?? {};
  const change = (next: Supposed) => suppose(Object.keys(next).length === 0 ? undefined : next);
  const setEdition = (wanted: Edition | undefined) =>
    change({ ...(wanted && { edition: wanted }), ...(policy && { policy }) });
  const setPolicy = (text: string) =>
    change({
      ...(edition && { edition }),
      ...(text !== "" && { policy: { [value]: value in POLICY_CHOICES ? text : Number(text) } }),
    });
  return (
    <div className="suppose" data-supposed={supposed !== undefined}>
      <Choice
        says="Edition"
        means="An edition is one version of the rules. Another one shows what it would decide."
        of={EDITIONS}
        value={edition}
        none="the recorded edition"
        choose={setEdition}
      />
      <Choice
        says="Policy"
        means="The policy has the agent's own limits. Another value shows what it would decide."
        of={POLICY}
        value={value}
        choose={(name) => setValue(name ?? value)}
      />
      {value in POLICY_CHOICES ? (
        <select
          aria-label={`policy: ${POLICY[value]}`}
          value={typeof given === "string" ? given : ""}
          onChange={(event) => setPolicy(event.target.value)}
        >
          <option value="">as is</option>
          {Object.entries(POLICY_CHOICES[value as keyof typeof POLICY_CHOICES]).map(
            ([name, says]) => (
              <option key={name} value={name}>
                {says}
              </option>
            ),
          )}
        </select>
      ) : (
        <input
          type="number"
          min={0}
          placeholder="as is"
          aria-label={`policy: ${POLICY[value]}`}
          value={typeof given === "number" ? given : ""}
          onChange={(event) => setPolicy(event.target.value)}
        />
      )}
    </div>
  );
}
