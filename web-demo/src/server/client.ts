// The server that handed out this page: its agents, and the entries of one of them as they come.

/** An agent in the list of the server. */
export interface ServedAgent {
  id: string;
  /** The agent in one word, or why it cannot be read. */
  posture: string;
  /** The same as a sentence. */
  reason: string;
}

/** The address of the server; null if the page was opened otherwise. */
export function serverAddress(): string | null {
  return document.querySelector<HTMLMetaElement>('meta[name="wakeful-server"]')?.content ?? null;
}

/** The server does not know who asks. */
export class NoSession extends Error {
  constructor(why = "this page has no token of the server") {
    super(why);
  }
}

/**
 * Begins a session with the token in the address, which is taken out of it: addresses are kept and
 * passed on. Call it before anything else reads the address.
 */
export async function sessionFromAddress(server: string): Promise<void> {
  const token = /^#token=(wks_[0-9a-f]+)$/.exec(location.hash)?.[1];
  if (token !== undefined) {
    history.replaceState(null, "", location.pathname + location.search);
    await beginSession(server, token);
  }
}

/** Begins a session: the token becomes a cookie that no script can read. */
export async function beginSession(server: string, token: string): Promise<void> {
  const answer = await fetch(`${server}session`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
  });
  if (answer.status === 401) {
    throw new NoSession(
      "the server does not know this token: `wakeful token list --ledger LEDGER` shows those it knows",
    );
  }
  if (!answer.ok) {
    throw await problem(answer);
  }
}

async function problem(answer: Response): Promise<Error> {
  if (answer.status === 401) {
    return new NoSession();
  }
  try {
    const { detail } = (await answer.json()) as { detail?: unknown };
    return new Error(typeof detail === "string" ? detail : `the server says ${answer.status}`);
  } catch {
    return new Error(`the server says ${answer.status}`);
  }
}

/** The parts of the list that are shown. */
interface Page {
  agents: {
    agent_id: string;
    summary: { scheduling_posture: { posture: string; reason: string } } | null;
    problem: { detail: string } | null;
  }[];
  next?: string;
}

/** The most agents that the page lists. */
export const MOST_LISTED = 1_000;

/** The agents of the server, sorted by id, and whether there are more. */
export async function agentsOf(server: string): Promise<{ agents: ServedAgent[]; isCut: boolean }> {
  const answer = await fetch(`${server}v1/agents?limit=${MOST_LISTED}`);
  if (!answer.ok) {
    throw await problem(answer);
  }
  const page = (await answer.json()) as Page;
  const agents = page.agents.map(({ agent_id: id, summary, problem: wrong }) => ({
    id,
    posture: summary?.scheduling_posture.posture ?? "broken",
    reason: summary?.scheduling_posture.reason ?? wrong?.detail ?? "",
  }));
  return { agents, isCut: page.next !== undefined };
}

/**
 * Calls `add` with the stored lines of an agent after `after`, in order and each once, until the
 * signal ends it. With `untilHead` it returns at the newest entry.
 */
export async function entriesOf(
  server: string,
  agent: string,
  options: { after: number; untilHead: boolean; signal: AbortSignal },
  add: (lines: string[]) => void,
): Promise<void> {
  const query = `after=${options.after}${options.untilHead ? "&until=head" : ""}`;
  const answer = await fetch(`${server}v1/agents/${encodeURIComponent(agent)}/entries?${query}`, {
    signal: options.signal,
  });
  if (!answer.ok || answer.body === null) {
    throw await problem(answer);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      return;
    }
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    const entries = lines
      .filter((line) => line.startsWith("data: "))
      .map((line) => line.slice("data: ".length));
    if (entries.length > 0) {
      add(entries);
    }
  }
}
