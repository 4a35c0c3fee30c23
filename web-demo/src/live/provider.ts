// The scripted provider: plays turns with the behaviour of the panel, and reports what a real one
// would. It decides nothing about the agent.
import type { Fact, TurnRequest } from "@package/payloads.js";

import { instant, MS } from "./clock.ts";
import type { Behaviour, PlayedRun } from "./messages.ts";

/** A turn in progress: its facts, and when they come; never if there is no instant. */
interface Scene {
  run_id: string;
  at: bigint | null;
  facts: Fact[];
}

/** A provider that plays by script. Its facts are taken with `due`. */
export class ScriptedProvider {
  /** The behaviour in turns that start from now on. */
  behaviour: Behaviour;
  readonly #now: () => bigint;
  readonly #note: (says: string) => void;
  #scenes: Scene[] = [];

  /** A provider without turns yet. `note` gets every call. */
  constructor(behaviour: Behaviour, now: () => bigint, note: (says: string) => void) {
    this.behaviour = behaviour;
    this.#now = now;
    this.#note = note;
  }

  startTurn(request: TurnRequest): void {
    const at = this.#now() + BigInt(this.behaviour.takes_ms) * MS;
    const facts = turn(request, this.behaviour, at);
    this.#scenes.push({
      run_id: request.run_id,
      at: facts === null ? null : at,
      facts: facts ?? [],
    });
    this.#note(`asked to start ${request.run_id} on ${request.message.id}`);
  }

  interject(runId: string, messageId: string): void {
    this.#note(`asked to insert ${messageId} into ${runId}`);
  }

  /** The turn ends after its round, which is now. */
  yieldTurn(runId: string): void {
    this.#note(`asked to end ${runId} after this round`);
    const scene = this.#scenes.find((playing) => playing.run_id === runId);
    if (scene !== undefined) {
      scene.at = this.#now();
      scene.facts =
        scene.facts.length > 0
          ? scene.facts
          : [{ fact: "turn_terminal", run_id: runId, kind: "completed" }];
    }
  }

  abortTurn(runId: string, reason: Extract<Fact, { fact: "turn_aborted" }>["reason"]): void {
    this.#note(`asked to abort ${runId} (${reason})`);
    this.#scenes = this.#scenes.filter((playing) => playing.run_id !== runId);
    this.#scenes.push({
      run_id: runId,
      at: this.#now(),
      facts: [{ fact: "turn_aborted", run_id: runId, reason }],
    });
  }

  release(): void {
    this.#note("asked to release everything");
  }

  /** The instant of the next facts. */
  nextAt(): bigint | null {
    return this.#scenes.reduce<bigint | null>(
      (first, { at }) => (at !== null && (first === null || at < first) ? at : first),
      null,
    );
  }

  /** The due facts, in order; each is returned once. */
  due(): Fact[] {
    const now = this.#now();
    const isDue = ({ at }: Scene) => at !== null && at <= now;
    const due = this.#scenes.filter(isDue);
    this.#scenes = this.#scenes.filter((scene) => !isDue(scene));
    return due.flatMap(({ facts }) => facts);
  }

  /** How this run is played. */
  playing(runId: string): PlayedRun {
    const at = this.#scenes.find((scene) => scene.run_id === runId)?.at ?? null;
    return { run_id: runId, ends_at: at === null ? null : instant(at) };
  }
}

/** The facts of a turn, which ends at an instant, or never if it is null. */
function turn(request: TurnRequest, { does, text, tokens }: Behaviour, at: bigint): Fact[] | null {
  const { run_id } = request;
  const item = request.work_item?.work_item_id ?? null;
  const said = text.trim() || "Done.";
  const made = (what: string) => `${run_id}/${what}`;
  const used: Fact = {
    fact: "provider_round_completed",
    run_id,
    round: 1,
    ...(tokens > 0 && { output_tokens: tokens }),
  };
  const round = (words: string): Fact[] => [
    used,
    { fact: "assistant_round_recorded", run_id, data: { text: words } },
  ];
  const ends = (words: string): Fact => ({
    fact: "turn_terminal",
    run_id,
    kind: "completed",
    last_assistant_message: words,
  });
  const turnOf = (words: string, ...facts: Fact[]) => [...round(words), ...facts, ends(words)];
  const task = (policy: "blocking" | "background"): Fact => ({
    fact: "task_running",
    task_id: made("task"),
    task_kind: "command_task",
    work_item_id: item,
    summary: said,
    detail: { wait_policy: policy },
  });
  const waits = (
    rest: Pick<
      Extract<Fact, { fact: "wait_condition_registered" }>,
      "kind" | "waiting_for" | "wake_sources"
    >,
  ): Fact => ({
    fact: "wait_condition_registered",
    wait_condition_id: made("wait"),
    work_item_id: item,
    ...rest,
  });
  switch (does) {
    case "say":
      return turnOf(said);
    case "nothing":
      return [used, { fact: "turn_terminal", run_id, kind: "completed" }];
    case "make_item":
      if (item !== null) return turnOf(`${item} is enough for now.`);
      return turnOf(
        `I make a work item: ${said}`,
        {
          fact: "work_item_created",
          work_item_id: made("item"),
          objective: said,
          plan_status: "ready",
        },
        { fact: "work_item_picked", work_item_id: made("item") },
      );
    case "complete_item":
      return item === null
        ? turnOf("There is no item to complete.")
        : turnOf(`I complete ${item}.`, {
            fact: "work_item_completed",
            work_item_id: item,
            result_summary: said,
          });
    case "wait_operator":
      return turnOf(
        said,
        waits({
          kind: "operator",
          waiting_for: "an answer",
          wake_sources: [{ kind: "operator_input" }],
        }),
      );
    case "wait_timer": {
      const wake_at = instant(at + 60_000n * MS);
      return turnOf(
        said,
        waits({
          kind: "timer",
          waiting_for: "a minute to pass",
          wake_sources: [{ kind: "timer", wake_at }],
        }),
      );
    }
    case "start_task":
      return turnOf(said, task("background"));
    case "wait_task": {
      const wake_sources = [{ kind: "task_result" as const, task_id: made("task") }];
      return turnOf(
        said,
        task("blocking"),
        waits({ kind: "task", waiting_for: `the result of ${made("task")}`, wake_sources }),
      );
    }
    case "wait_trigger":
      return turnOf(
        `I wait for ${said}.`,
        waits({
          kind: "external",
          waiting_for: `a delivery to ${said}`,
          wake_sources: [{ kind: "external_ingress", external_trigger_id: said }],
        }),
      );
    case "fail":
      return [
        used,
        { fact: "turn_terminal", run_id, kind: "provider_failed_needs_recovery", reason: said },
      ];
    case "never":
      return null;
  }
}
