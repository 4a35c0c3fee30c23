// The engine in the worker of the live agent: one agent over a ledger, a clock and the scripted
// provider, and the faults of the panel. It does not use the browser directly: the worker provides
// what it needs.
import type * as guestModule from "@guest/wakeful_web.js";
import type { Ledger, Scheduler, WakefulError } from "@guest/wakeful_web.js";
import type { BudgetSet, Fact, Head, StepReport } from "@package/payloads.js";

import { Acts } from "./acts.ts";
import { instant, LiveClock, MS, type TextStore } from "./clock.ts";
import { isFull, STORAGE_FULL } from "./full.ts";
import {
  FAULTS,
  type Behaviour,
  type Command,
  type Fault,
  type Happening,
  type LiveView,
  type Refusal,
  type Told,
} from "./messages.ts";
import { ScriptedProvider } from "./provider.ts";
import { hashOf, newToken } from "./token.ts";

/**
 * The agent in the page. It has the name of the agent of scenarios, because ids of the core begin
 * with it.
 */
export const AGENT_ID = "default";

/** A ledger that can be closed. */
export type OwnLedger = Ledger & { close(): void };

/** What the engine needs from its worker. */
export interface Lent {
  /** The started guest. */
  guest: typeof guestModule;
  /**
   * Opens the agent's ledger and the clock's file. Rejects if another tab has them.
   */
  open(): Promise<{ ledger: OwnLedger; clock: TextStore }>;
  /** The machine's clock: nanoseconds since the epoch. */
  machine(): bigint;
  /**
   * Calls back after these milliseconds of the machine's time. Returns the function that cancels
   * it.
   */
  later(ms: number, call: () => void): () => void;
  /** Sends a message to the page. */
  tell(told: Told): void;
}

/** The delay before a failed append is retried, in milliseconds. */
const RETRY_MS = 1000;

/** The longest delay of a JavaScript timer, in milliseconds. */
const LONGEST_MS = 2 ** 31 - 1;

/** The number of lines per read. */
const PAGE = 1000;

/** An agent while its ledger is open. */
interface Open {
  ledger: FailingLedger;
  clock: LiveClock;
  provider: ScriptedProvider;
  scheduler: Scheduler;
}

/** Runs one agent; commands come one at a time. */
export class Engine {
  readonly #lent: Lent;
  #open: Open | null = null;
  #fault: Fault | null = null;
  #held: string[] = [];
  /** Facts to report next, in order. */
  #inbox: string[] = [];
  /** The fact of the command that is being carried out, until the core has answered it. */
  #asked: string | null = null;
  /** The tokens that this process made, by their hash. They are in no file. */
  #tokens = new Map<string, string>();
  #trouble: string | null = null;
  #alarm = () => {};
  #toldLines = 0;
  #happened: Happening[] = [];
  #acts = new Acts();

  constructor(lent: Lent) {
    this.#lent = lent;
  }

  /** Carries out a command of the page, and sends it the outcome. */
  async hear(ask: number, command: Command): Promise<void> {
    let refused: Refusal | null = null;
    try {
      await this.#obey(command);
    } catch (error) {
      refused = refusal(error);
      // The log has the fact that was ignored already.
      if (refused.code !== IGNORED) this.#note("trouble", refused.message);
    }
    this.#tell();
    this.#lent.tell({ say: "answered", ask, refused });
  }

  async #obey(command: Command): Promise<void> {
    if (command.do === "open") {
      return this.#opened(command.behaviour);
    }
    const open = this.#open;
    if (open === null) {
      throw failed("wrong_state", "the agent is not open: open it first");
    }
    switch (command.do) {
      case "restart":
        this.#note("host", "another process takes the ledger over");
        return this.#drive(open, open.provider.behaviour);
      case "shut_down":
        this.#say({ fact: "shutdown_requested" });
        if (this.#trouble !== null)
          throw failed("ledger_failed", `${this.#trouble}; shut down again when the ledger works`);
        return this.#close();
      case "prompt": {
        const { text, priority } = command;
        const id = `prompt-${open.scheduler.head().seq + 1}`;
        const message = {
          id,
          kind: "operator_prompt",
          origin: { kind: "operator" },
          trust: "trusted_operator",
          priority,
        } as const;
        return this.#say({
          fact: "message_queued",
          message: { ...message, body: { type: "text", text } },
        });
      }
      case "say":
        return this.#say(command.fact);
      case "end_task":
        return this.#say({
          fact: command.how,
          task_id: command.task_id,
          summary: `ended from the panel: ${command.how}`,
        });
      case "create_trigger":
        return this.#say({
          fact: "external_trigger_created",
          ...command.trigger,
          token_hash: await this.#madeToken(),
        });
      case "rotate_trigger":
        return this.#say({
          fact: "external_trigger_rotated",
          external_trigger_id: command.external_trigger_id,
          token_hash: await this.#madeToken(),
        });
      case "deliver_with": {
        const token_hash = await hashOf(command.token);
        const found = Object.entries(folded(open).ingress.open).find(
          ([, { record }]) => record.token_hash === token_hash,
        );
        // A token that no trigger has makes no fact (contract 15.2).
        if (found === undefined) throw failed("unknown", "no trigger has this token");
        const { text, delivery_id } = command;
        return this.#say({
          fact: "external_trigger_delivered",
          external_trigger_id: found[0],
          token_hash,
          delivery_id: delivery_id || `delivery-${open.scheduler.head().seq + 1}`,
          ...(text !== "" && { content: { type: "text", text } }),
        });
      }
      case "behave":
        open.provider.behaviour = command.behaviour;
        return undefined;
      case "set_clock":
        open.clock.setMode(command.mode);
        this.#note("host", `time is ${command.mode}`);
        return this.#work();
      case "advance":
        return this.#advance(open, open.clock.now() + BigInt(command.by_ms) * MS);
      case "wake":
        return this.#advance(open, nextEvent(open) ?? open.clock.now());
      case "arm":
        this.#fault = command.fault;
        open.ledger.failsNext = command.fault === "fail_append";
        return undefined;
      case "deliver":
        this.#inbox.push(...this.#held.splice(0));
        return this.#work();
    }
  }

  async #opened(behaviour: Behaviour): Promise<void> {
    if (this.#open !== null) return;
    const { ledger, clock } = await this.#lent.open();
    const time = new LiveClock(clock, () => this.#lent.machine());
    try {
      // If a crash destroyed the clock's file, the ledger still has the time.
      const newest = newestAt(ledger);
      if (newest !== null) time.reach(newest);
      this.#drive(
        { ledger: new FailingLedger(ledger, () => this.#failed()), clock: time },
        behaviour,
      );
    } catch (error) {
      ledger.close();
      throw error;
    }
  }

  /** Takes the ledger over with a fresh scheduler and provider. */
  #drive({ ledger, clock }: Pick<Open, "ledger" | "clock">, behaviour: Behaviour): void {
    this.#open?.scheduler.free();
    this.#open = null;
    this.#inbox = [];
    const provider = new ScriptedProvider(
      behaviour,
      () => clock.now(),
      (says) => this.#note("provider", says),
    );
    // A scenario begins with a driven agent. An existing ledger is taken over by another process.
    if (ledger.read(0, 1).length > 0) this.#acts.did("restart", clock.now());
    const scheduler = this.#lent.guest.Scheduler.drive(
      { agent_id: AGENT_ID },
      { ledger, clock, provider },
    );
    this.#open = { ledger, clock, provider, scheduler };
    this.#note("host", `the ledger is open at entry ${scheduler.head().seq}`);
    this.#work();
  }

  #close(): void {
    this.#alarm();
    this.#open?.scheduler.free();
    this.#open?.ledger.close();
    this.#open = null;
    this.#fault = null;
    this.#trouble = null;
    this.#held = [];
    this.#inbox = [];
    this.#tokens.clear();
    this.#toldLines = 0;
  }

  /** Makes a token. Returns its hash. */
  async #madeToken(): Promise<string> {
    const token = newToken();
    const hash = await hashOf(token);
    this.#tokens.set(hash, token);
    return hash;
  }

  /** Reports a fact to the agent, with the faults of the panel, and carries out what follows. */
  #say(fact: Fact | string): void {
    const text = typeof fact === "string" ? fact : JSON.stringify(fact);
    this.#asked = text;
    this.#inbox.push(...this.#faulted(text));
    this.#work();
  }

  /** The facts that arrive after a fault. */
  #faulted(text: string): string[] {
    const fault = this.#fault;
    if (fault === null || fault === "fail_append") return [text];
    this.#fault = null;
    this.#note("host", `${FAULTS[fault]}: ${nameOf(text)}`);
    if (fault === "delay") this.#held.push(text);
    return fault === "duplicate" ? [text, text] : [];
  }

  #failed(): void {
    this.#fault = null;
    this.#acts.lastFailed();
    this.#note("host", "an append failed");
  }

  /** Moves time forward, and stops at every event on the way. */
  #advance(open: Open, to: bigint): void {
    for (;;) {
      const event = nextEvent(open);
      if (event === null || event > to) break;
      open.clock.reach(event);
      this.#work();
      if (this.#trouble !== null) return;
    }
    open.clock.reach(to);
    this.#work();
  }

  /**
   * Reports the pending facts and runs the agent until it rests. A failed append is retried after a
   * while.
   *
   * @throws the core's error about a refused fact, or why the fact of a command was ignored
   */
  #work(): void {
    const open = this.#open;
    if (open === null) return;
    this.#alarm();
    let refused: unknown = null;
    try {
      for (;;) {
        refused = this.#sayAll(open) ?? refused;
        this.#acts.did("run", open.clock.now());
        open.scheduler.runUntilRest().forEach((step) => this.#noteStep(step));
        const due = open.provider.due();
        if (due.length === 0) break;
        this.#inbox.push(...due.flatMap((fact) => this.#faulted(JSON.stringify(fact))));
      }
      this.#trouble = null;
    } catch (error) {
      this.#trouble = refusal(error).message;
      this.#note("trouble", this.#trouble);
    }
    this.#setAlarm(open);
    if (refused !== null) throw refused;
  }

  /**
   * Empties the inbox. Returns the error of a refused fact, or why the fact of a command was
   * ignored. A fact that the ledger did not take stays.
   */
  #sayAll({ scheduler, clock }: Open): unknown {
    let refused: unknown = null;
    for (let text = this.#inbox[0]; text !== undefined; text = this.#inbox[0]) {
      try {
        // On one line, as in a scenario file. Text that is not JSON is refused before it is
        // recorded.
        this.#acts.did(`say ${text.replaceAll("\n", " ")}`, clock.now());
        const receipt = scheduler.propose(text);
        const ignored =
          receipt.answer === "ignored"
            ? `ignored: ${receipt.reason} (entry ${receipt.because})`
            : null;
        this.#note("fact", `${nameOf(text)}${ignored === null ? "" : `, ${ignored}`}`);
        if (ignored !== null && text === this.#asked) refused ??= failed(IGNORED, ignored);
      } catch (error) {
        if (codeOf(error) === "ledger_failed") throw error;
        refused = error;
      }
      this.#inbox.shift();
      // The same fact may come twice, by a fault. The first answer counts.
      if (text === this.#asked) this.#asked = null;
    }
    return refused;
  }

  /** One alarm: for the next wake in real time, or for a retry. */
  #setAlarm(open: Open): void {
    const event = open.clock.mode === "real" ? nextEvent(open) : null;
    const until = event === null ? null : Number((event - open.clock.now()) / MS) + 1;
    const delay = this.#trouble !== null ? RETRY_MS : until;
    this.#alarm = () => {};
    if (delay === null) return;
    this.#alarm = this.#lent.later(Math.min(Math.max(delay, 0), LONGEST_MS), () => {
      try {
        this.#work();
      } catch (error) {
        this.#note("trouble", refusal(error).message);
      }
      this.#tell();
    });
  }

  #noteStep({ decision }: StepReport): void {
    if (decision !== null && decision !== undefined) {
      this.#note("decision", `${decision.decision} (${decision.reason}) by ${decision.rule}`);
    }
  }

  #note(what: Happening["what"], says: string): void {
    this.#happened.push({
      at: instant(this.#open?.clock.now() ?? this.#lent.machine()),
      what,
      says,
    });
  }

  /** Sends the page what is new. */
  #tell(): void {
    const lines: string[] = [];
    if (this.#open !== null) {
      for (;;) {
        const page = this.#open.ledger.read(this.#toldLines, PAGE);
        if (page.length === 0) break;
        lines.push(...page);
        this.#toldLines += page.length;
      }
    }
    const view = this.#open === null ? null : this.#view(this.#open);
    this.#lent.tell({
      say: "changed",
      view,
      lines,
      happened: this.#happened.splice(0),
      acts: this.#acts.take(),
    });
  }

  #view(open: Open): LiveView {
    const { scheduler, clock, provider } = open;
    const explanation = scheduler.explain("run_loop_idle");
    const event = nextEvent(open);
    const { tasks, work, ingress, budgets } = folded(open);
    const summary = scheduler.summary();
    const runId = summary.execution.run_id ?? null;
    const tokenOf = (id: string) => this.#tokens.get(ingress.open[id]?.record.token_hash ?? "");
    return {
      mode: clock.mode,
      now: instant(clock.now()),
      head: scheduler.head(),
      sentence: explanation.sentence,
      status: explanation.status,
      run: runId === null ? null : provider.playing(runId),
      next_wake: explanation.next_wake ?? null,
      next_event: event === null ? null : instant(event),
      active_tasks: Object.keys(tasks.active),
      open_items: Object.keys(work.items),
      triggers: summary.active_external_triggers.map((trigger) => ({
        trigger,
        token: tokenOf(trigger.external_trigger_id) ?? null,
      })),
      budgets: summary.budgets,
      limits: [
        budgets.agent.limits,
        ...Object.entries(budgets.items).map(([work_item_id, { limits }]) => ({
          work_item_id,
          ...limits,
        })),
      ],
      held: this.#held.length,
      fault: this.#fault,
      trouble: this.#trouble,
      is_full: this.#trouble !== null && open.ledger.isFull,
    };
  }
}

/** The part of the folded state that the panel shows, and that has no other question. */
interface Folded {
  tasks: { active: Record<string, unknown> };
  work: { items: Record<string, unknown> };
  ingress: { open: Record<string, { record: { token_hash: string } }> };
  budgets: { agent: Account; items: Record<string, Account> };
}

interface Account {
  limits: BudgetSet;
}

const folded = ({ scheduler }: Open) => scheduler.state() as unknown as Folded;

/** The earliest instant at which the agent or its provider acts on its own. */
function nextEvent({ scheduler, provider }: Open): bigint | null {
  const [wake, turn] = [scheduler.nextWake() ?? null, provider.nextAt()];
  if (wake === null || turn === null) return wake ?? turn;
  return wake < turn ? wake : turn;
}

/** A ledger whose next append can fail; nothing is stored then. */
class FailingLedger implements OwnLedger {
  failsNext = false;
  /** Whether the newest append failed because the storage is full. */
  isFull = false;
  readonly #inner: OwnLedger;
  readonly #failed: () => void;

  constructor(inner: OwnLedger, failed: () => void) {
    this.#inner = inner;
    this.#failed = failed;
  }

  append(expected: Head, batch: string[]): void {
    if (this.failsNext) {
      this.failsNext = false;
      this.#failed();
      throw new Error("the panel asked for an append that fails");
    }
    this.isFull = false;
    try {
      this.#inner.append(expected, batch);
    } catch (error) {
      // The core passes on only the words of an error.
      this.isFull = isFull(error);
      throw error;
    }
  }

  read(after: number, limit: number): string[] {
    return this.#inner.read(after, limit);
  }

  close(): void {
    this.#inner.close();
  }
}

/** The instant of the newest line; null for an empty ledger. */
function newestAt(ledger: Ledger): bigint | null {
  let newest: string | undefined;
  for (let after = 0; ;) {
    const page = ledger.read(after, PAGE);
    if (page.length === 0) break;
    newest = page.at(-1);
    after += page.length;
  }
  // Rounded up to a millisecond, because a JavaScript date drops the rest.
  return newest === undefined
    ? null
    : (BigInt(Date.parse((JSON.parse(newest) as { at: string }).at)) + 1n) * MS;
}

/** The fact's name, for the log. */
function nameOf(text: string): string {
  try {
    const { fact } = JSON.parse(text) as { fact?: unknown };
    return typeof fact === "string" ? fact : "something that is not a fact";
  } catch {
    return "something that is not JSON";
  }
}

/** The code of a fact that the core took and ignored. */
const IGNORED = "ignored";

const failed = (code: string, message: string) => Object.assign(new Error(message), { code });

function codeOf(error: unknown): string {
  if (isFull(error)) return STORAGE_FULL;
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "failed";
}

function refusal(error: unknown): Refusal {
  const place =
    error instanceof Error && "place" in error ? (error as WakefulError).place : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return { code: codeOf(error), message, ...(place === undefined ? {} : { place }) };
}
