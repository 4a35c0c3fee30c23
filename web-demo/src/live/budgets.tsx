// Budgets: set the limits of the agent or of an item, and grant more. What they hold back is the
// core's to say.
import { useState } from "react";

import { LIMITS, names, type Limit } from "../case/labels.ts";
import { Budgets as Standing } from "../parts/standing.tsx";
import { Answer, owners, Part, Select, useAnswer } from "./part.tsx";
import { textOf } from "./shape.ts";
import type { Live } from "./use-live.ts";

/** The budgets of the agent and of its items, with their forms. */
export function Budgets({ live }: { live: Live }) {
  const [chosen, setOwner] = useState("");
  const all = owners(live);
  // A completed item has no budget any more.
  const owner = all.some(([name]) => name === chosen) ? chosen : "";
  const budgets = live.view?.budgets ?? [];
  return (
    <Part title="Budgets" wide>
      {budgets.length > 0 && <Standing budgets={budgets} now={live.view?.now ?? ""} />}
      <div className="live-grid">
        <Select says="Budget of" value={owner} of={all} choose={setOwner} />
      </div>
      <SetForm key={`set ${owner}`} live={live} owner={owner} />
      <GrantForm key={`grant ${owner}`} live={live} owner={owner} />
    </Part>
  );
}

function SetForm({ live, owner }: { live: Live; owner: string }) {
  const { answered, ask } = useAnswer(live);
  const known = live.view?.limits.find(({ work_item_id }) => (work_item_id ?? "") === owner);
  const [draft, setDraft] = useState<Partial<Record<Limit, string>>>({});
  const shown = (limit: Limit) => draft[limit] ?? String(known?.[limit] ?? "");
  const set = async () => {
    const fact = factOf("budget_set", owner, {}, names(LIMITS), shown);
    if (await ask({ do: "say", fact }, "The limits hold now.")) setDraft({});
  };
  return (
    <form
      aria-label="set a budget"
      onSubmit={(event) => {
        event.preventDefault();
        void set();
      }}
    >
      <div className="live-grid">
        {names(LIMITS).map((limit) => (
          <Amount
            key={limit}
            says={LIMITS[limit]}
            placeholder="no limit"
            value={shown(limit)}
            change={(text) => setDraft({ ...draft, [limit]: text })}
          />
        ))}
      </div>
      <div className="live-row">
        <button
          type="submit"
          className="live-button live-first"
          disabled={live.view === null || Object.keys(draft).length === 0}
        >
          Set
        </button>
      </div>
      <Answer answered={answered} />
    </form>
  );
}

const GRANTS = { tokens: "More tokens", cost_micros: "More millionths of cost" };

function GrantForm({ live, owner }: { live: Live; owner: string }) {
  const { answered, ask } = useAnswer(live);
  const [draft, setDraft] = useState<Partial<Record<keyof typeof GRANTS, string>>>({});
  const given = (name: keyof typeof GRANTS) => draft[name] ?? "";
  const grant = async () => {
    const grant_id = `grant-${(live.head?.seq ?? 0) + 1}`;
    const fact = factOf("budget_granted", owner, { grant_id }, names(GRANTS), given);
    if (await ask({ do: "say", fact }, "The grant counts now.")) setDraft({});
  };
  return (
    <form
      aria-label="grant more"
      onSubmit={(event) => {
        event.preventDefault();
        void grant();
      }}
    >
      <div className="live-grid">
        {names(GRANTS).map((name) => (
          <Amount
            key={name}
            says={GRANTS[name]}
            placeholder="none"
            value={given(name)}
            change={(text) => setDraft({ ...draft, [name]: text })}
          />
        ))}
      </div>
      <div className="live-row">
        <button
          type="submit"
          className="live-button"
          disabled={live.view === null || names(GRANTS).every((name) => given(name).trim() === "")}
        >
          Grant
        </button>
      </div>
      <Answer answered={answered} />
    </form>
  );
}

/** The text of a fact. Numbers stay as they are written, so that the core says what is wrong. */
function factOf<Name extends string>(
  fact: string,
  owner: string,
  texts: Record<string, string>,
  numbers: Name[],
  written: (name: Name) => string,
): string {
  const named = { fact, ...(owner !== "" && { work_item_id: owner }), ...texts };
  const members = Object.entries(named).map(([name, text]) => [name, JSON.stringify(text)]);
  const amounts = numbers.map((name) => [name, textOf({ is: "number" }, written(name))]);
  const said = [...members, ...amounts].filter(([, text]) => text !== undefined);
  return `{${said.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}

function Amount({
  says,
  placeholder,
  value,
  change,
}: {
  says: string;
  placeholder: string;
  value: string;
  change: (text: string) => void;
}) {
  return (
    <label className="live-labelled">
      {says}
      <input
        className="live-amount"
        inputMode="numeric"
        placeholder={placeholder}
        value={value}
        onChange={({ target }) => change(target.value)}
      />
    </label>
  );
}
