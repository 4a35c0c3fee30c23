// The ladder: every rule in order, what it says, and what it said here; and what it would say under another edition or policy.
import { useEffect, useRef, useState } from "react";
import type { Explanation, Spent } from "@package/payloads.js";

import { EDITIONS, names, POLICY } from "../case/labels.ts";
import type { Supposed } from "../document/messages.ts";
import { Pane } from "../parts/pane.tsx";
import { SeqLink } from "../parts/seq-link.tsx";

/** All rules; the one that fired is kept in view. */
export function LadderPane({ explanation, supposed, suppose }: { explanation: Explanation; supposed: Supposed | undefined; suppose: (supposed: Supposed | undefined) => void }) {
  const { rules } = explanation;
  const body = useRef<HTMLDivElement>(null);
  const fired = rules.find((rule) => rule.outcome === "fired")?.rule;
  useEffect(() => {
    body.current?.querySelector("[data-outcome=fired]")?.scrollIntoView({ block: "nearest" });
  }, [fired]);
  return (
    <Pane title="Ladder" note={<Suppose supposed={supposed} suppose={suppose} />} body={body}>
      <ol className="ladder">
        {rules.map((rule) => (
          <li key={rule.rule} className="rule" data-outcome={rule.outcome}>
            <span className="rule-id">{rule.rule}</span>
            <span className="rule-outcome" title={rule.outcome === "false" ? rule.atom : undefined}>
              {rule.outcome === "fired" && "▶ "}
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

/** What is supposed instead of what was recorded; it changes what is shown and nothing else. */
function Suppose({ supposed, suppose }: { supposed: Supposed | undefined; suppose: (supposed: Supposed | undefined) => void }) {
  const [value, setValue] = useState<keyof typeof POLICY>("autonomous_turns");
  const edition = supposed?.edition;
  const given = supposed?.policy?.[value];
  const change = (part: Supposed) => {
    const next = { ...supposed, ...part };
    suppose(Object.keys(next).length === 0 ? undefined : next);
  };
  const setPolicy = (text: string) => {
    const { policy: _, ...rest } = supposed ?? {};
    suppose(text === "" ? (Object.keys(rest).length === 0 ? undefined : rest) : { ...rest, policy: { [value]: Number(text) } });
  };
  return (
    <div className="suppose" data-supposed={supposed !== undefined}>
      <label>
        under{" "}
        <select
          value={edition ?? ""}
          onChange={(event) => {
            const wanted = names(EDITIONS).find((name) => name === event.target.value);
            if (wanted === undefined) {
              const { edition: _, ...rest } = supposed ?? {};
              suppose(Object.keys(rest).length === 0 ? undefined : rest);
            } else {
              change({ edition: wanted });
            }
          }}
        >
          <option value="">the recorded edition</option>
          {names(EDITIONS).map((name) => (
            <option key={name} value={name}>
              {EDITIONS[name]}
            </option>
          ))}
        </select>
      </label>
      <label>
        with{" "}
        <select value={value} onChange={(event) => setValue(names(POLICY).find((name) => name === event.target.value) ?? value)}>
          {names(POLICY).map((name) => (
            <option key={name} value={name}>
              {POLICY[name]}
            </option>
          ))}
        </select>
      </label>
      <input
        type="number"
        min={0}
        placeholder="as is"
        aria-label={`policy: ${POLICY[value]}`}
        value={typeof given === "number" ? given : ""}
        onChange={(event) => setPolicy(event.target.value)}
      />
      {supposed !== undefined && (
        <button type="button" className="quiet" onClick={() => suppose(undefined)}>
          As recorded
        </button>
      )}
    </div>
  );
}
