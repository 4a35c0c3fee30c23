/**
 * The loop for hosts with asynchronous storage (IndexedDB, HTTP, a database), over the outbox
 * `Machine`. It has no rules.
 */
import type { AsyncHost, AsyncProvider } from "./async-host.js";
import { WakefulError } from "./error.js";
import {
  type Folder,
  ledgerFailure,
  Machine,
  type Proposal,
  providerFailure,
  readClock,
  type State,
} from "./guest/wakeful_web.js";
import type {
  Boundary,
  Effect,
  Explanation,
  Fact,
  Head,
  Options,
  Receipt,
  StepReport,
} from "./payloads.js";

/** The number of lines per read. */
const PAGE = 128;

/** More steps without rest are a bug, not a workload. */
const MAX_STEPS = 100_000;

/**
 * The scheduler of one agent over asynchronous storage. It behaves like `Scheduler`, but has no
 * snapshots, no `stateAt`, `explainAt`, `whyNot`, `summary` or `replay`. One call runs at a time;
 * the others wait in their order. The clock is read once per call.
 */
export class AsyncScheduler {
  readonly #machine: Machine;
  readonly #host: AsyncHost;
  /** Fulfilled when the newest call has ended. */
  #newest: Promise<unknown> = Promise.resolve();
  /** Facts about failures of the provider that the ledger has not taken yet, in order. */
  readonly #unsaid: string[] = [];
  #closed = false;

  private constructor(machine: Machine, host: AsyncHost) {
    this.#machine = machine;
    this.#host = host;
  }

  /** The parts of a host, read once. */
  static #parts(host: AsyncHost): AsyncHost {
    try {
      const { ledger, clock, provider, changed } = host;
      for (const [name, part] of Object.entries({ ledger, clock, provider })) {
        if (part === undefined || part === null) {
          throw new Error(`\`${name}\` is missing`);
        }
      }
      return {
        ledger,
        clock,
        provider,
        // `changed` may use `this`, as any method of the host may.
        ...(changed === undefined ? {} : { changed: () => changed.call(host) }),
      };
    } catch (thrown) {
      throw new WakefulError(
        "host_failed",
        `a host needs \`ledger\`, \`clock\` and \`provider\`: ${thrown instanceof Error ? thrown.message : "reading them threw"}`,
        { cause: thrown },
      );
    }
  }

  /**
   * Opens a ledger as an observer: reads and verifies it. An empty ledger gets its first entry.
   * Nothing is started.
   *
   * @throws A `WakefulError` if the ledger cannot be read, or is damaged, newer, or another
   * agent's.
   */
  static observe(options: Options, host: AsyncHost): Promise<AsyncScheduler> {
    return AsyncScheduler.#open(options, host, async () => {});
  }

  /**
   * Opens a ledger as its driver: reads it and takes it over. An open run of the previous driver
   * becomes interrupted.
   *
   * @throws As `observe`, and if the provider cannot say which tasks are alive.
   */
  static drive(options: Options, host: AsyncHost): Promise<AsyncScheduler> {
    return AsyncScheduler.#open(options, host, (scheduler, now) => scheduler.#takeOver(now));
  }

  static async #open(
    options: Options,
    host: AsyncHost,
    takeOver: (scheduler: AsyncScheduler, now: bigint) => Promise<void>,
  ): Promise<AsyncScheduler> {
    const scheduler = new AsyncScheduler(new Machine(options), AsyncScheduler.#parts(host));
    try {
      await scheduler.#call(async (now) => {
        await scheduler.#loadTail();
        const proposal = scheduler.#machine.begin(now);
        if (proposal !== undefined) {
          await scheduler.#commit(proposal);
        }
        await takeOver(scheduler, now);
      });
      return scheduler;
    } catch (error) {
      // The machine is memory of the guest, and nothing else frees it.
      await scheduler.close();
      throw error;
    }
  }

  async #takeOver(now: bigint): Promise<void> {
    const alive_task_ids = await this.#alive();
    await this.#receive(
      this.#machine.propose({ fact: "runtime_restarted", alive_task_ids }, now),
      now,
    );
  }

  async #alive(): Promise<string[]> {
    const provider = this.#host.provider;
    const active = this.#machine.activeTasks();
    if (provider.alive === undefined || active.length === 0) {
      return [];
    }
    try {
      return await provider.alive(active);
    } catch (thrown) {
      throw new WakefulError(
        "provider_failed",
        "the provider did not say which tasks are alive: open the ledger again",
        { cause: thrown },
      );
    }
  }

  /**
   * Reads what others appended, and returns the number of entries. Call it after an error with the
   * code "conflict", then repeat the call. An own batch may have been stored although its append
   * failed; its effects are carried out now.
   *
   * @throws A `WakefulError` if the ledger cannot be read, is damaged, or has another history.
   */
  catchUp(): Promise<number> {
    return this.#call(() => this.#catchUp());
  }

  /**
   * Takes a fact: JSON text, which stays as it is, or an object.
   *
   * @throws A `WakefulError` if it is malformed or too long, or if the ledger fails. Nothing has
   * changed then.
   */
  propose(fact: Fact | string): Promise<Receipt> {
    return this.#call(async (now) => {
      await this.#sayUnsaid(now);
      return this.#receive(this.#machine.propose(fact, now), now);
    });
  }

  /**
   * Takes one step at a boundary.
   *
   * @throws A `WakefulError` if the ledger is only observed, or if it fails. Nothing has changed
   * then.
   */
  step(boundary: Boundary): Promise<StepReport> {
    return this.#call(async (now) => (await this.#step(boundary, now)).report);
  }

  /**
   * Steps until there is nothing more to do: a rest, a stop, or an open run.
   *
   * @throws As `step`; code "restless" if it does not rest.
   */
  runUntilRest(): Promise<StepReport[]> {
    return this.#call(async (now) => {
      const reports: StepReport[] = [];
      for (let steps = 0; steps < MAX_STEPS; steps += 1) {
        const before = this.#machine.headText();
        const { report, goesOn } = await this.#step(this.#machine.boundary(), now);
        // Nothing new was appended: a rest that equals the newest one is not recorded again
        // (contract 7.5).
        if (this.#machine.headText() === before) {
          return reports;
        }
        reports.push(report);
        if (!goesOn) {
          return reports;
        }
      }
      throw new WakefulError(
        "restless",
        `no rest after ${MAX_STEPS} steps: this is a bug, keep the ledger`,
      );
    });
  }

  /**
   * Imports a fixture folder (path to text) into a fresh ledger, as an observer sees it. Only
   * `core-fast.wasm` has it.
   *
   * @throws A `WakefulError` if the folder cannot be read, or if the ledger is not fresh or fails.
   */
  importFolder(files: Folder): Promise<Head> {
    return this.#call(async (now) => {
      await this.#commit(this.#machine.importFolder(files, now));
      return this.#machine.head();
    });
  }

  /**
   * Explains what would be decided at a boundary, by default at that of the loop's next step.
   * Appends nothing.
   *
   * @throws A `WakefulError` if there is no boundary of this name.
   */
  explain(boundary?: Boundary): Promise<Explanation> {
    return this.#call((now) => {
      const asked = boundary ?? this.#machine.boundary();
      return this.#machine.explain(asked, now);
    });
  }

  /** As `explain`, with the explanation as the core's exact text. */
  explainText(boundary?: Boundary): Promise<string> {
    return this.#call((now) => {
      const asked = boundary ?? this.#machine.boundary();
      return this.#machine.explainText(asked, now);
    });
  }

  /**
   * The earliest instant at which a step would find something new, in nanoseconds since the epoch:
   * set one alarm for it, and ask again after every call. It is now if the ledger has not taken a
   * failure of the provider yet.
   */
  nextWake(): Promise<bigint | undefined> {
    return this.#call((now) => (this.#unsaid.length === 0 ? this.#machine.nextWake(now) : now));
  }

  /** The state up to the last committed entry. */
  state(): Promise<State> {
    return this.#call(() => this.#machine.state());
  }

  /** As `state`, as the core's exact text. */
  stateText(): Promise<string> {
    return this.#call(() => this.#machine.stateText());
  }

  /** The head of the last committed entry. */
  head(): Promise<Head> {
    return this.#call(() => this.#machine.head());
  }

  /** As `head`, as the core's exact text. */
  headText(): Promise<string> {
    return this.#call(() => this.#machine.headText());
  }

  /**
   * Closes the scheduler after the pending calls; later calls are refused. The ledger and the
   * provider stay open.
   */
  async close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      // A pending call still uses the machine.
      await this.#newest;
      this.#machine.free();
    }
  }

  /** Runs a call after the calls before it, with one reading of the clock. */
  #call<T>(work: (now: bigint) => T | Promise<T>): Promise<T> {
    if (this.#closed) {
      return Promise.reject(
        new WakefulError("wrong_state", "the scheduler is closed: open the ledger again"),
      );
    }
    // The clock is read when the call begins. The calls before it may take long.
    const call = this.#newest.then(() => work(readClock(this.#host.clock)));
    // A call that fails must not fail the calls behind it.
    this.#newest = call.catch(() => {});
    return call;
  }

  async #step(boundary: Boundary, now: bigint): Promise<{ report: StepReport; goesOn: boolean }> {
    // A failure of the provider is recorded before anything else, so that its run does not stay
    // open.
    await this.#sayUnsaid(now);
    const proposal = this.#machine.step(boundary, now);
    if (proposal === undefined) {
      return { report: { decision: null, head: this.#machine.head(), effects: [] }, goesOn: true };
    }
    const effects = await this.#commit(proposal);
    await this.#carryOut(effects, now);
    return {
      report: { decision: proposal.decision, head: this.#machine.head(), effects },
      goesOn: proposal.goes_on,
    };
  }

  async #receive(proposal: Proposal, now: bigint): Promise<Receipt> {
    const effects = await this.#commit(proposal);
    await this.#carryOut(effects, now);
    return { ...proposal.answer, head: this.#machine.head(), effects };
  }

  /** Appends a batch. Carries out its effects once it is durable. */
  async #commit(proposal: Proposal): Promise<Effect[]> {
    try {
      await this.#host.ledger.append(proposal.expected, proposal.batch);
    } catch (thrown) {
      const failure = ledgerFailure(thrown);
      // A conflict stored nothing. After any other failure the batch may be stored (decision 014).
      if (failure.code === "conflict") {
        this.#machine.rejected();
      } else {
        this.#machine.unacknowledged();
      }
      throw failure;
    }
    return this.#machine.committed();
  }

  async #loadTail(): Promise<number> {
    for (let loaded = 0; ;) {
      const page = await this.#read();
      const lines = this.#machine.loadPage(page, PAGE);
      if (lines === 0) {
        return loaded;
      }
      loaded += lines;
    }
  }

  async #read(after = this.#machine.head().seq, limit = PAGE): Promise<unknown> {
    try {
      return await this.#host.ledger.read(after, limit);
    } catch (thrown) {
      throw ledgerFailure(thrown);
    }
  }

  async #catchUp(): Promise<number> {
    try {
      const loaded = await this.#loadTail();
      // A first new entry would show that the one before it is still there.
      if (loaded === 0) {
        await this.#requireHead();
      }
      return loaded;
    } finally {
      // Also if reading failed: the lines before that may have been the last ones, and then no
      // conflict leads back here.
      this.#askProvider(this.#machine.found());
    }
  }

  /** Checks that the ledger still has the newest known entry. */
  async #requireHead(): Promise<void> {
    const { seq, chain } = this.#machine.head();
    if (seq === 0) {
      return;
    }
    const page = await this.#read(seq - 1, 1);
    const line: unknown = Array.isArray(page) ? page[0] : undefined;
    if (typeof line !== "string" || !line.endsWith(`"chain":"${chain}"}`)) {
      throw new WakefulError(
        "cannot_open",
        `the ledger no longer has entry ${seq} as this program knows it: it was set back or replaced, restore a copy that has it, and open it again`,
      );
    }
  }

  /**
   * Carries effects out. The batch is durable already, so if the ledger does not take a failure of
   * the provider, the next call fails.
   */
  async #carryOut(effects: Effect[], now: bigint): Promise<void> {
    this.#askProvider(effects);
    try {
      await this.#sayUnsaid(now);
    } catch {
      // The next call reports it first.
    }
  }

  /** Reports failures of the provider. Another writer may have been first. */
  async #sayUnsaid(now: bigint): Promise<void> {
    for (let fact = this.#unsaid[0]; fact !== undefined; fact = this.#unsaid[0]) {
      const proposal = this.#machine.propose(fact, now);
      try {
        const effects = await this.#commit(proposal);
        // Removed only now that the ledger has it.
        this.#unsaid.shift();
        this.#askProvider(effects);
      } catch (error) {
        const isConflict = error instanceof WakefulError && error.code === "conflict";
        // A conflict without a new entry would repeat forever.
        if (!isConflict || (await this.#catchUp()) === 0) {
          throw error;
        }
      }
    }
  }

  #askProvider(effects: Effect[]): void {
    for (const effect of effects) {
      const runId = "run_id" in effect ? effect.run_id : undefined;
      try {
        const answer = ask(this.#host.provider, effect);
        if (answer !== undefined) {
          Promise.resolve(answer).catch((thrown: unknown) =>
            this.#failedLater(providerFailure(runId, thrown)),
          );
        }
      } catch (thrown) {
        this.#unsaid.push(providerFailure(runId, thrown));
      }
    }
  }

  async #failedLater(fact: string): Promise<void> {
    this.#unsaid.push(fact);
    try {
      await this.#call((now) => this.#sayUnsaid(now));
    } catch {
      // As in `carryOut`: `nextWake` is now. If this scheduler is closed before that, the next
      // driver finds the run open and interrupts it.
    }
    if (!this.#closed) {
      this.#host.changed?.();
    }
  }
}

function ask(provider: AsyncProvider, effect: Effect): void | Promise<void> {
  switch (effect.effect) {
    case "start_turn": {
      const { effect: _, ...request } = effect;
      return provider.startTurn(request);
    }
    case "interject":
      return provider.interject(effect.run_id, effect.message_id);
    case "yield_turn":
      return provider.yieldTurn(effect.run_id);
    case "abort_turn":
      return provider.abortTurn(effect.run_id, effect.reason);
    case "release":
      return provider.release();
  }
}
