// A store: its agents by state, those that need a person first.
import { useState } from "react";

import { dateAndTime, lasts } from "../case/clock.ts";
import { counted } from "../case/words.ts";
import type { Store } from "../document/source.ts";
import { labelOf, opensWith } from "../frame/acts.ts";
import { Said } from "../parts/said.tsx";
import { shortened, visible } from "../parts/visible.ts";
import { nameInStore } from "./use-workspace.ts";
import { STATES, useSurvey, type AgentState, type Surveyed } from "./use-survey.ts";

/**
 * The agents of a store. A click opens one as a document; `acts` says that it was on what to do
 * about it.
 */
export function StoreView({
  store,
  open,
}: {
  store: Store;
  open: (at: number, acts: boolean) => void;
}) {
  const known = useSurvey(store);
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const listed = store.agents
    .map((agent, at) => ({ agent, at, found: known.get(at) }))
    .filter(({ agent, found }) =>
      `${agent.id} ${found?.says ?? ""}`.toLowerCase().includes(wanted),
    );
  // The agent that has been still for the longest comes first. One without entries has no time.
  const of = (state: AgentState) =>
    listed
      .filter(({ found }) => (found?.state ?? "unknown") === state)
      .sort((left, right) => (left.agent.newestAt < right.agent.newestAt ? -1 : 1));
  return (
    <section className="store" aria-label={`agents of ${visible(store.name)}`}>
      <header className="heading">
        <h1 className="sentence" tabIndex={-1}>
          {counted(store.agents.length, "agent")} in {visible(shortened(store.name))}
        </h1>
        <p className="shows">
          Choose one. Those that need you come first, and of those the one that has been still for
          the longest.
        </p>
        <input
          type="search"
          aria-label="search the agents"
          placeholder="Search the agents"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <span className="note" role="status">
          {known.size < store.agents.length && `${known.size} of ${store.agents.length} looked at`}
        </span>
      </header>
      <div className="store-body">
        {(Object.keys(STATES) as AgentState[]).map((state) => {
          const agents = of(state);
          return (
            agents.length > 0 && (
              <section key={state} data-state={state}>
                <h2>
                  {STATES[state]} <span className="note">{agents.length}</span>
                </h2>
                <ul>
                  {agents.map(({ agent, at, found }) => (
                    <li key={at}>
                      <AgentButton
                        id={nameInStore(agent, store).slice(0, -` in ${store.name}`.length)}
                        entries={agent.entries}
                        newestAt={agent.newestAt}
                        found={found}
                        open={(acts) => open(at, acts)}
                      />
                    </li>
                  ))}
                </ul>
              </section>
            )
          );
        })}
      </div>
    </section>
  );
}

function AgentButton(props: {
  id: string;
  entries: number;
  newestAt: string;
  found: Surveyed | undefined;
  open: (acts: boolean) => void;
}) {
  const { id, entries, newestAt, found } = props;
  const still = Date.now() - Date.parse(newestAt);
  return (
    <div className="store-row">
      <button
        type="button"
        className="store-agent"
        data-agent={id}
        onClick={() => props.open(false)}
      >
        <strong title={visible(id)}>{visible(shortened(id))}</strong>
        <span className="note">
          {counted(entries, "entry", "entries")}
          {newestAt !== "" && (
            <span title={`the newest entry is of ${dateAndTime(newestAt.slice(0, 19))} UTC`}>
              {still >= 0 ? `, still for ${lasts(still)}` : ", its newest entry is in the future"}
            </span>
          )}
        </span>
        <span className="store-says">
          {found === undefined ? "" : <Said sentence={visible(found.says)} />}
        </span>
        {found?.asks != null && (
          <span className="store-asks">
            <q>{found.asks}</q>
          </span>
        )}
      </button>
      {found?.act != null && (
        <button
          type="button"
          className="act"
          aria-label={`${labelOf(found.act)}: ${visible(shortened(id))}`}
          onClick={() => props.open(true)}
        >
          {opensWith(found.act)}
        </button>
      )}
    </div>
  );
}
