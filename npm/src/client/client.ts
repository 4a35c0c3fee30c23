/**
 * A client of `wakeful serve`: agents, messages, turns that a host runs, and entries that verify.
 *
 * @packageDocumentation
 */
import type {
  AgentSummary,
  Boundary,
  DecisionKind,
  Explanation,
  Fact,
  Head,
  TriggerSummary,
  TurnRequest,
  WhyNot,
} from "../payloads.js";
import type * as api from "./api.js";
import { EntryError, entryOf, START, type StoredEntry } from "./entries.js";
import { followed } from "./events.js";
import { WakefulProblem } from "./problem.js";
import { pause, Retries, Watched } from "./waiting.js";

export type * from "../payloads.js";
export type * from "./api.js";
export { EntryError, type StoredEntry, WakefulProblem };

/** The server, and who asks. */
export interface ClientOptions {
  /** The address of the server, such as `http://127.0.0.1:7171`. */
  url: string | URL;
  /** A token of `wakeful token create`. It is only ever sent in the header `Authorization`. */
  token?: string;
  /** What sends the requests, if it is not the platform's own `fetch`. */
  fetch?: typeof fetch;
}

/** What every call takes. */
export interface Call {
  /** Ends the call, which then rejects with the reason of the signal. */
  signal?: AbortSignal;
}

/** The routes. One is left out: those who deliver to a trigger have its address, and no client. */
export type Route = Exclude<keyof api.Routes, "POST /in/{token}">;

/** What a route takes. */
export type Sent<R extends Route> = Omit<api.Routes[R], "answer"> & Call;

/** What a route answers. */
export type Answer<R extends Route> = api.Routes[R]["answer"];

type Optional<T> = object extends T ? [sent?: T] : [sent: T];

/** How to ask for the past or for another boundary. */
export interface Asking extends Call {
  /** The entry after which to ask; the newest if absent. */
  at?: number;
  /** The boundary to ask for; the next one of the loop if absent. */
  boundary?: Boundary;
}

/** How a message is said. */
export interface Saying extends Call, Omit<api.SpokenMessage, "text"> {
  /** Makes the call safe to repeat: the same key with the same message counts once. */
  key?: string;
  /** The seconds to wait for the end of its turn. */
  wait?: number;
}

/** Which entries, and how. */
export interface EntryOptions extends Call {
  /**
   * Only entries after this one. The chain of a number is taken from the server as it is; that of a
   * head is one that you know.
   */
  after?: number | Head;
  /** Ends at the newest entry. Without it, new entries are waited for. */
  until?: "head";
  /** Whether the chain is verified; it is if absent. The order always is. */
  verify?: boolean;
}

/** A server with many agents. */
export class WakefulClient {
  readonly #base: string;
  readonly #token: string | undefined;
  readonly #fetch: typeof fetch;

  constructor({ url, token, fetch: given }: ClientOptions) {
    const { origin, pathname } = new URL(url);
    this.#base = origin + pathname.replace(/\/+$/, "");
    // The platform's own error would repeat the token.
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
      throw new TypeError("the token has a character that no token has, or is empty");
    }
    this.#token = token;
    // Looked up with each request, as callers may replace it.
    this.#fetch = given ?? ((input, init) => fetch(input, init));
  }

  /** An agent of the server. This sends nothing. */
  agent(id: string): Agent {
    return new Agent(this, id);
  }

  /** The agents, each in short, sorted by id. */
  async *agents(
    options: Omit<NonNullable<api.Routes["GET /v1/agents"]["query"]>, "cursor"> & Call = {},
  ): AsyncGenerator<api.Listed, void, undefined> {
    const { signal, ...asked } = options;
    for (let cursor: string | undefined; ;) {
      const query = { ...asked, ...(cursor === undefined ? {} : { cursor }) };
      const page = await this.ask("GET /v1/agents", { query, ...heeding(signal) });
      yield* page.agents;
      cursor = page.next ?? undefined;
      if (cursor === undefined) {
        return;
      }
    }
  }

  /** The ids of the agents whose open turn a host must run. */
  async openTurns(call: Call = {}): Promise<string[]> {
    return (await this.ask("GET /v1/turns", call)).map(({ agent_id }) => agent_id);
  }

  /** Calls a route. The other methods do the same for what most programs need. */
  async ask<R extends Route>(route: R, ...[sent]: Optional<Sent<R>>): Promise<Answer<R>> {
    const parts: Parts = sent ?? {};
    const headers = new Headers(texts(parts.headers));
    if (this.#token !== undefined) {
      headers.set("authorization", `Bearer ${this.#token}`);
    }
    const init: RequestInit = { headers, ...heeding(parts.signal) };
    if (parts.body !== undefined) {
      headers.set("content-type", "application/json");
      init.body = JSON.stringify(parts.body);
    }
    const [method, path] = route.split(" ") as [string, string];
    init.method = method;
    const query = new URLSearchParams(texts(parts.query)).toString();
    const url = this.#base + filled(path, parts.path ?? {}) + (query && `?${query}`);
    // Not as a method: a browser's `fetch` must not have another `this`.
    const send = this.#fetch;
    const answer = await send(url, init);
    if (!answer.ok) {
      throw await WakefulProblem.of(answer);
    }
    return (await content(answer)) as Answer<R>;
  }
}

/** An agent of a server. */
export class Agent {
  readonly #client: WakefulClient;
  /** The id. */
  readonly id: string;

  constructor(client: WakefulClient, id: string) {
    this.#client = client;
    this.id = id;
  }

  get #path(): { agent: string } {
    return { agent: this.id };
  }

  /** Makes the agent, or changes who runs its turns. */
  put(body: api.NewAgent = {}, call: Call = {}): Promise<AgentSummary> {
    return this.#client.ask("PUT /v1/agents/{agent}", { path: this.#path, body, ...call });
  }

  /** Stops driving and listing the agent. Its ledger stays and can be read. */
  putAway(call: Call = {}): Promise<undefined> {
    return this.#client.ask("DELETE /v1/agents/{agent}", { path: this.#path, ...call });
  }

  /** The agent in short. */
  summary(call: Call = {}): Promise<AgentSummary> {
    return this.#client.ask("GET /v1/agents/{agent}", { path: this.#path, ...call });
  }

  /** What would be decided, and why. */
  explain({ signal, ...query }: Asking = {}): Promise<Explanation> {
    const sent = { path: this.#path, query, ...heeding(signal) };
    return this.#client.ask("GET /v1/agents/{agent}/explain", sent);
  }

  /** What would lead to another decision. */
  whyNot(decision: DecisionKind, { signal, ...asked }: Asking = {}): Promise<WhyNot> {
    const sent = { path: this.#path, query: { ...asked, decision }, ...heeding(signal) };
    return this.#client.ask("GET /v1/agents/{agent}/why-not", sent);
  }

  /** Says something to the agent. With `wait`, the answer has its turn if that ended in time. */
  say(text: string, { key, wait, signal, ...message }: Saying = {}): Promise<api.Heard> {
    const headers = {
      ...(key === undefined ? {} : { "Idempotency-Key": key }),
      ...waiting(wait),
    };
    const body = { text, ...message };
    const sent = { path: this.#path, headers, body, ...heeding(signal) };
    return this.#client.ask("POST /v1/agents/{agent}/messages", sent);
  }

  /** Reports a fact, as a host that runs turns does. */
  report(fact: Fact, call: Call = {}): Promise<api.Said> {
    const sent = { path: this.#path, body: fact, ...call };
    return this.#client.ask("POST /v1/agents/{agent}/facts", sent);
  }

  /** Starts, stops, wakes or restarts the agent; `reason` is for `wake`. */
  control(action: api.Action, call: Call & { reason?: string } = {}): Promise<api.Said> {
    const { signal, ...why } = call;
    const sent = { path: this.#path, body: { action, ...why }, ...heeding(signal) };
    return this.#client.ask("POST /v1/agents/{agent}/control", sent);
  }

  /** The open turn; undefined if there is none, or none came in `wait` seconds. */
  openTurn({ wait, signal }: Call & { wait?: number } = {}): Promise<TurnRequest | undefined> {
    const sent = { path: this.#path, headers: waiting(wait), ...heeding(signal) };
    return this.#client.ask("GET /v1/agents/{agent}/turn", sent);
  }

  /**
   * The turns that a host must run, each once, until the signal is aborted. Report the end of a
   * turn before you ask for the next one. Lost connections are made again.
   */
  async *turns({ signal }: Call = {}): AsyncGenerator<TurnRequest, void, undefined> {
    const retries = new Retries(signal);
    let last: string | undefined;
    for (;;) {
      const watched = new Watched(signal, (LONG_POLL + GRACE) * 1_000);
      let turn: TurnRequest | undefined;
      try {
        turn = await watched.hears((signal) => this.openTurn({ wait: LONG_POLL, signal }));
        retries.succeeded();
      } catch (why) {
        await retries.after(why);
        continue;
      } finally {
        watched.end();
      }
      if (turn?.run_id === last && turn !== undefined) {
        // Its end is not reported yet, and the server does not wait while a turn is open.
        await pause(LOOK_AGAIN, signal);
      } else if (turn !== undefined) {
        last = turn.run_id;
        yield turn;
      }
    }
  }

  /** The external triggers that can be delivered to, without their tokens. */
  triggers(call: Call = {}): Promise<TriggerSummary[]> {
    return this.#client.ask("GET /v1/agents/{agent}/triggers", { path: this.#path, ...call });
  }

  /** Makes an external trigger. Its address is in this answer and nowhere else. */
  makeTrigger(trigger: api.NewTrigger, call: Call = {}): Promise<api.MadeTrigger> {
    const sent = { path: this.#path, body: trigger, ...call };
    return this.#client.ask("POST /v1/agents/{agent}/triggers", sent);
  }

  /** Gives an external trigger a new address; the old one ends. */
  rotateTrigger(trigger: string, call: Call = {}): Promise<api.MadeTrigger> {
    const sent = { path: { ...this.#path, trigger }, ...call };
    return this.#client.ask("POST /v1/agents/{agent}/triggers/{trigger}/rotate", sent);
  }

  /** Ends an external trigger. */
  revokeTrigger(trigger: string, call: Call = {}): Promise<undefined> {
    const sent = { path: { ...this.#path, trigger }, ...call };
    return this.#client.ask("DELETE /v1/agents/{agent}/triggers/{trigger}", sent);
  }

  /**
   * The stored entries, each exactly once and in order. A lost connection is made again after the
   * newest entry. An entry that does not follow from the one before is an `EntryError`.
   */
  async *entries(options: EntryOptions = {}): AsyncGenerator<StoredEntry, void, undefined> {
    const { after = START, until, verify = true, signal } = options;
    const from = typeof after === "number" ? { seq: after, chain: undefined } : after;
    let { seq, chain } = verify ? await this.#headAt(from, signal) : { ...from, chain: undefined };
    const events = followed({
      open: (last, signal) =>
        this.#client.ask("GET /v1/agents/{agent}/entries", {
          path: this.#path,
          headers: { "Last-Event-ID": Number(last) },
          query: until === undefined ? {} : { until },
          signal,
        }),
      last: String(seq),
      ends: until !== undefined,
      signal,
    });
    for await (const event of events) {
      const entry = entryOf(event, { seq, chain });
      seq = entry.seq;
      chain = verify ? entry.chain : undefined;
      yield entry;
    }
  }

  /** A place with the chain that the server has there. */
  async #headAt(
    from: { seq: number; chain: string | undefined },
    signal: AbortSignal | undefined,
  ): Promise<{ seq: number; chain: string | undefined }> {
    if (from.chain !== undefined || from.seq === 0) {
      return { seq: from.seq, chain: from.chain ?? START.chain };
    }
    const before = { after: from.seq - 1, until: "head", verify: false } as const;
    for await (const { seq, chain } of this.entries({ ...before, ...heeding(signal) })) {
      return { seq, chain };
    }
    // There is no such entry, and the server says so.
    return from;
  }
}

/** The seconds that a request waits for a turn, and those in which its answer comes after that. */
const LONG_POLL = 30;
const GRACE = 15;

/** The milliseconds after which to look again whether a turn is still open. */
const LOOK_AGAIN = 1_000;

/** What `ask` sends, for any route. */
interface Parts extends Call {
  path?: { [part: string]: string };
  query?: { [name: string]: unknown };
  headers?: { [name: string]: unknown };
  body?: unknown;
}

function heeding(signal: AbortSignal | undefined): Call {
  return signal === undefined ? {} : { signal };
}

function waiting(seconds: number | undefined): { Prefer?: string } {
  return seconds === undefined ? {} : { Prefer: `wait=${Math.ceil(seconds)}` };
}

/** The values that are there, as texts. */
function texts(values: { [name: string]: unknown } = {}): [string, string][] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
}

/** The path with its parts. */
function filled(path: string, parts: { [part: string]: string }): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const part = parts[name] ?? "";
    // A URL cannot have such a part: it would name another path.
    if (part === "" || part === "." || part === "..") {
      throw new TypeError(`no ${name} of a server has the id \`${part}\``);
    }
    return encodeURIComponent(part);
  });
}

/** What an answer has, by its kind. */
async function content(answer: Response): Promise<unknown> {
  const kind = answer.headers.get("content-type") ?? "";
  if (kind.startsWith("text/event-stream")) {
    return answer.body;
  }
  if (answer.status === 204) {
    return undefined;
  }
  return kind.startsWith("application/json") ? answer.json() : answer.text();
}
