// The agents of the server that handed out this page, in the list of what can be opened.
import { useState, type FormEvent } from "react";

import { Said } from "../parts/said.tsx";
import { useCommands } from "../parts/use-commands.ts";
import { visible } from "../parts/visible.ts";
import { MOST_LISTED } from "./client.ts";
import type { Served } from "./use-served.ts";

/** The agents of the server; the open one is marked. */
export function ServedList(props: {
  served: Served;
  chosen: string | null;
  search: string;
  open: (id: string) => void;
}) {
  const { served, chosen, open } = props;
  const wanted = props.search.toLowerCase();
  const agents = (served.agents ?? []).filter(({ id, posture }) =>
    `${id} ${posture}`.toLowerCase().includes(wanted),
  );
  useCommands(
    (served.agents ?? []).map(({ id, posture }) => ({
      id: `agent.${id}`,
      name: `Open agent ${id}, ${posture.replaceAll("_", " ")}`,
      group: "Agents",
      run: () => open(id),
    })),
  );
  return (
    <section aria-label="agents of this server">
      <h2>
        Agents <span className="note">{served.agents?.length ?? ""}</span>
      </h2>
      {served.needsToken && <SignIn signIn={served.signIn} />}
      {served.trouble !== null && (
        <p className="note pad" role="status">
          {visible(served.trouble)}
        </p>
      )}
      {served.agents?.length === 0 && !served.needsToken && (
        <p className="note pad">This server has no agents yet.</p>
      )}
      <ul>
        {agents.map(({ id, posture, reason }) => (
          <li key={id}>
            <button
              type="button"
              className="case"
              data-agent={id}
              title={visible(reason)}
              aria-current={id === chosen}
              onClick={() => open(id)}
            >
              {visible(id)} <span className="note">{posture.replaceAll("_", " ")}</span>
            </button>
          </li>
        ))}
      </ul>
      {served.isCut && <p className="note pad">The first {MOST_LISTED} are listed.</p>}
    </section>
  );
}

function SignIn({ signIn }: { signIn: (token: string) => Promise<void> }) {
  const [token, setToken] = useState("");
  const [refused, setRefused] = useState<string | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signIn(token).then(
      () => setToken(""),
      (error: unknown) => setRefused(error instanceof Error ? error.message : String(error)),
    );
  };
  return (
    <form className="sign-in" onSubmit={submit}>
      <h3>Sign in to this server</h3>
      <label>
        Token of this server
        <input
          type="password"
          autoComplete="off"
          spellCheck={false}
          value={token}
          placeholder="wks_…"
          onChange={(event) => setToken(event.target.value)}
        />
      </label>
      <button type="submit" className="quiet" disabled={token.trim() === ""}>
        Sign in
      </button>
      {refused !== null && (
        <p className="sign-in-refused" role="alert">
          <Said sentence={visible(refused)} />
        </p>
      )}
    </form>
  );
}
