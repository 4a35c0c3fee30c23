// Tests of the live agent without a browser: a ledger in memory, a clock and timers that the test
// moves.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { LiveClock, MS, type TextStore } from "./clock.ts";
import { Engine, type OwnLedger } from "./engine.ts";
import type { Behaviour, Command, Happening, LiveView, Refusal } from "./messages.ts";
import { hashOf } from "./token.ts";

const root = new URL("../../../", import.meta.url);
const guest = (await import(
  new URL("target/guest/web/wakeful_web.js", root).href
)) as typeof import("@guest/wakeful_web.js");
guest.initSync({ module: await readFile(new URL("target/guest/web/wakeful_web_bg.wasm", root)) });
const { MemoryLedger } = (await import(new URL("npm/src/ledger/memory.mjs", root).href)) as {
  MemoryLedger: new () => OwnLedger & { lines: string[] };
};

const BEGINS = Date.UTC(2026, 4, 27, 9);
const SAYS: Behaviour = { does: "say", text: "hello", takes_ms: 0, tokens: 0 };

/** The parts that survive a process: the ledger, the clock's file and the machine's clock. */
class Disk {
  lines: string[] = [];
  clock = "";
  machineMs = BEGINS;
  inUse = false;
  isFull = false;
}

/** A process over a disk, and what the page sees of it. */
class Process {
  readonly disk: Disk;
  readonly engine: Engine;
  view: LiveView | null = null;
  lines: string[] = [];
  log: Happening[] = [];
  acts: string[] = [];
  refused: Refusal | null = null;
  timer: { at: number; call: () => void } | null = null;
  #asks = 0;

  constructor(disk: Disk) {
    this.disk = disk;
    this.engine = new Engine({
      guest,
      open: () => this.#open(),
      machine: () => BigInt(disk.machineMs) * MS,
      later: (ms, call) => {
        const timer = { at: disk.machineMs + ms, call };
        this.timer = timer;
        return () => {
          if (this.timer === timer) this.timer = null;
        };
      },
      tell: (told) => {
        if (told.say === "answered") {
          this.refused = told.refused;
        } else {
          this.view = told.view;
          this.lines.push(...told.lines);
          this.log.push(...told.happened);
          this.acts.push(...told.acts);
        }
      },
    });
  }

  async #open(): Promise<{ ledger: OwnLedger; clock: TextStore }> {
    const { disk } = this;
    if (disk.inUse) throw Object.assign(new Error("another tab has it"), { code: "in_use" });
    disk.inUse = true;
    const ledger = new MemoryLedger();
    if (disk.lines.length > 0) ledger.append({ seq: 0, chain: "0".repeat(64) }, disk.lines);
    disk.lines = ledger.lines;
    const append = ledger.append.bind(ledger);
    ledger.append = (...batch) => {
      if (disk.isFull) throw new DOMException("No space", "QuotaExceededError");
      append(...batch);
    };
    ledger.close = () => void (disk.inUse = false);
    return { ledger, clock: { load: () => disk.clock, save: (text) => void (disk.clock = text) } };
  }

  /** Sends a command. Returns the refusal, if any. */
  async does(command: Command): Promise<Refusal | null> {
    await this.engine.hear((this.#asks += 1), command);
    return this.refused;
  }

  /** Moves the machine's time forward; alarms ring on the way. */
  sleep(ms: number): void {
    const until = this.disk.machineMs + ms;
    while (this.timer !== null && this.timer.at <= until) {
      this.disk.machineMs = this.timer.at;
      const { call } = this.timer;
      this.timer = null;
      call();
    }
    this.disk.machineMs = until;
  }

  /** The process is gone: its later actions are ignored. */
  crash(): Process {
    this.disk.inUse = false;
    return new Process(this.disk);
  }

  /** The number of lines with this text. */
  count(words: string): number {
    return this.disk.lines.filter((line) => line.includes(words)).length;
  }
}

async function started(behaviour = SAYS, mode: "real" | "virtual" = "virtual"): Promise<Process> {
  const process = new Process(new Disk());
  assert.equal(await process.does({ do: "open", behaviour }), null);
  assert.equal(await process.does({ do: "set_clock", mode }), null);
  return process;
}

const prompt: Command = { do: "prompt", text: "look", priority: "normal" };
const view = (process: Process): LiveView => process.view ?? assert.fail("the agent is not open");

test("a prompt starts a turn, the turn says its text, and the agent rests", async () => {
  const process = await started();
  assert.equal(await process.does(prompt), null);
  assert.equal(process.count('"last_assistant_message":"hello"'), 1);
  assert.deepEqual(process.lines, process.disk.lines, "the page has every line");
  assert.equal(view(process).head.seq, process.lines.length);
  assert.match(view(process).sentence, /^At rest/);
  assert.ok(
    process.log.some(
      ({ what, says }) => what === "decision" && says.startsWith("StartModelTurn (OperatorPrompt)"),
    ),
  );
});

test("each behaviour leaves the same facts as a real provider", async () => {
  const ends: Partial<Record<Behaviour["does"], (process: Process) => void>> = {
    nothing: (process) => assert.equal(process.count('"status":"terminal"'), 1),
    make_item: (process) => assert.equal(process.count('"class":"work_items"'), 1),
    wait_operator: (process) => assert.match(view(process).sentence, /waits for/),
    wait_timer: (process) => assert.equal(view(process).next_wake, "2026-05-27T09:01:00Z"),
    start_task: (process) => assert.equal(view(process).active_tasks.length, 1),
    wait_task: (process) => assert.equal(view(process).status, "awaiting_task"),
    wait_trigger: (process) =>
      assert.equal(process.count('"wake_sources":[{"kind":"external_ingress"'), 1),
    fail: (process) =>
      assert.equal(view(process).next_wake, "2026-05-27T09:00:10Z", "a retry is owed"),
    never: (process) => assert.equal(view(process).run?.ends_at, null),
  };
  for (const [does, check] of Object.entries(ends)) {
    const process = await started({ ...SAYS, does: does as Behaviour["does"] });
    assert.equal(await process.does(prompt), null, does);
    assert.equal(
      process.log.find(({ what, says }) => what === "trouble" || says.includes("ignored")),
      undefined,
      does,
    );
    check(process);
  }
});

test("an item is made, continued by a tick and completed", async () => {
  const process = await started({ ...SAYS, does: "make_item" });
  await process.does({
    do: "behave",
    behaviour: { does: "make_item", text: "tidy up", takes_ms: 1000, tokens: 0 },
  });
  await process.does(prompt);
  await process.does({ do: "behave", behaviour: { ...SAYS, does: "complete_item" } });
  await process.does({ do: "wake" });
  assert.equal(process.count('"state":"completed"'), 1);
  assert.match(view(process).sentence, /^At rest/);
});

test("a task ends from the panel, and its result wakes the agent", async () => {
  const process = await started({ ...SAYS, does: "wait_task" });
  await process.does(prompt);
  const [task] = view(process).active_tasks;
  await process.does({ do: "behave", behaviour: SAYS });
  await process.does({ do: "end_task", task_id: task ?? "", how: "task_completed" });
  assert.deepEqual(view(process).active_tasks, []);
  assert.ok(process.log.some(({ says }) => says.startsWith("StartModelTurn (TaskResult)")));
});

test("virtual time moves only on command, and stops at every event on the way", async () => {
  const process = await started({ does: "say", text: "slow", takes_ms: 5000, tokens: 0 });
  process.sleep(3_600_000);
  assert.equal(view(process).now, "2026-05-27T09:00:00.000Z");
  await process.does({
    do: "say",
    fact: '{"fact":"timer_created","timer_id":"t","duration_ms":60000,"interval_ms":60000}',
  });
  await process.does({ do: "wake" });
  assert.equal(view(process).now, "2026-05-27T09:01:00.000Z");
  assert.equal(view(process).run?.ends_at, "2026-05-27T09:01:05.000Z");
  await process.does({ do: "advance", by_ms: 3_600_000 });
  assert.equal(view(process).now, "2026-05-27T10:01:00.000Z");
  assert.equal(
    process.count('"status":"terminal"'),
    60,
    "a turn for each minute, of which the last is open",
  );
  assert.equal(process.timer, null, "no alarm rings in virtual time");
});

test("in real time an alarm rings for the agent and for its provider", async () => {
  const process = await started({ does: "say", text: "slow", takes_ms: 5000, tokens: 0 }, "real");
  await process.does(prompt);
  process.sleep(4000);
  assert.equal(process.count('"status":"terminal"'), 0);
  process.sleep(2000);
  assert.equal(process.count('"status":"terminal"'), 1);
});

test("time never runs back: over a crash, from virtual to real, or without the clock's file", async () => {
  let process = await started();
  await process.does({ do: "advance", by_ms: 86_400_000 });
  process = process.crash();
  await process.does({ do: "open", behaviour: SAYS });
  assert.equal(view(process).mode, "virtual");
  assert.equal(view(process).now, "2026-05-28T09:00:00.000Z");
  await process.does({ do: "set_clock", mode: "real" });
  process.sleep(1000);
  await process.does(prompt);
  assert.equal(view(process).now, "2026-05-28T09:00:01.000Z");
  process = process.crash();
  process.disk.clock = '{"mode":"vir';
  await process.does({ do: "open", behaviour: SAYS });
  assert.ok(view(process).now >= "2026-05-28T09:00:01", view(process).now);
  const store = {
    load: () => "",
    save: () => assert.fail("an instant that has passed is not stored"),
  };
  new LiveClock(store, () => 5n).reach(4n);
});

test("after a crash in a turn the agent continues: the run is interrupted and its message replayed", async () => {
  let process = await started({ does: "say", text: "slow", takes_ms: 5000, tokens: 0 });
  await process.does(prompt);
  const before = process.disk.lines.length;
  const interrupted = view(process).run?.run_id;
  process = process.crash();
  await process.does({ do: "open", behaviour: SAYS });
  assert.ok(process.disk.lines.length > before);
  assert.equal(
    process.lines.length,
    process.disk.lines.length,
    "a page that opens it gets the lines from the first",
  );
  assert.equal(process.count('"status":"interrupted"'), 1);
  assert.notEqual(interrupted, undefined);
  assert.equal(process.count('"last_assistant_message":"hello"'), 1);
});

test("a failed append is retried, and nothing is lost or reported twice", async () => {
  const process = await started();
  const before = process.disk.lines.length;
  await process.does({ do: "arm", fault: "fail_append" });
  assert.equal(view(process).fault, "fail_append");
  assert.equal(await process.does(prompt), null, "the fact itself was not refused");
  assert.match(view(process).trouble ?? "", /the ledger failed/);
  assert.equal(process.disk.lines.length, before);
  process.sleep(1000);
  assert.equal(view(process).trouble, null);
  assert.equal(process.count('"kind":"operator_prompt"'), 1);
  assert.equal(process.count('"last_assistant_message":"hello"'), 1);
});

test("a full storage is told as such, and what was said is stored when there is space", async () => {
  const process = await started();
  const before = process.disk.lines.length;
  process.disk.isFull = true;
  assert.equal(await process.does(prompt), null, "the fact itself was not refused");
  assert.equal(view(process).is_full, true);
  process.sleep(5_000);
  assert.equal(view(process).is_full, true);
  assert.equal(process.disk.lines.length, before);
  process.disk.isFull = false;
  process.sleep(1_000);
  assert.deepEqual([view(process).is_full, view(process).trouble], [false, null]);
  assert.equal(process.count('"kind":"operator_prompt"'), 1);
  await process.does({ do: "arm", fault: "fail_append" });
  await process.does(prompt);
  assert.equal(view(process).is_full, false, "another failure is not a full storage");
});

test("a fact comes twice, late or never", async () => {
  const process = await started();
  await process.does({ do: "arm", fault: "duplicate" });
  await process.does(prompt);
  assert.ok(process.log.some(({ says }) => says.startsWith("message_queued, ignored: duplicate")));
  assert.equal(process.count('"last_assistant_message"'), 1);
  await process.does({ do: "arm", fault: "drop" });
  const prompts = () => process.count('"kind":"operator_prompt"');
  await process.does(prompt);
  assert.equal(prompts(), 1);
  await process.does({ do: "arm", fault: "delay" });
  await process.does(prompt);
  assert.equal(view(process).held, 1);
  assert.equal(prompts(), 1);
  await process.does({ do: "deliver" });
  assert.equal(view(process).held, 0);
  assert.equal(process.count('"last_assistant_message"'), 2);
  await process.does({ do: "arm", fault: "drop" });
  await process.does({ do: "arm", fault: null });
  await process.does(prompt);
  assert.equal(process.count('"last_assistant_message"'), 3);
});

test("a malformed fact is the core's own error, with its place, and stops nothing", async () => {
  const process = await started();
  const refused = await process.does({
    do: "say",
    fact: '{"fact":"timer_created",\n "timer_id":"t","duration_ms":"soon"}',
  });
  assert.equal(refused?.code, "malformed");
  assert.deepEqual([refused?.place?.path, refused?.place?.line], ["duration_ms", 2]);
  assert.equal((await process.does({ do: "say", fact: "no JSON" }))?.code, "malformed");
  assert.equal(await process.does(prompt), null);
});

const build = {
  external_trigger_id: "build",
  description: "the nightly build",
  delivery_mode: "wake_hint",
  trust: "untrusted_external",
} as const;

/** The token of the only trigger. */
const tokenOf = (process: Process) => view(process).triggers[0]?.token ?? assert.fail("no token");

const deliver = (token: string, delivery_id = ""): Command => ({
  do: "deliver_with",
  token,
  text: "It is green.",
  delivery_id,
});

test("a trigger is made, awaited and delivered to, and its token is in no entry", async () => {
  const process = await started({ ...SAYS, does: "wait_trigger", text: "build" });
  assert.equal(await process.does({ do: "create_trigger", trigger: build }), null);
  const token = tokenOf(process);
  assert.match(token, /^wkt_[0-9a-f]{64}$/);
  await process.does(prompt);
  assert.equal(view(process).triggers[0]?.trigger.awaited_by.length, 1);
  await process.does({ do: "behave", behaviour: SAYS });
  assert.equal(await process.does(deliver(token, "n1")), null);
  assert.equal(view(process).triggers[0]?.trigger.delivery_count, 1);
  assert.deepEqual(view(process).triggers[0]?.trigger.awaited_by, []);
  assert.equal(process.count('"last_assistant_message":"hello"'), 1, "it woke the agent");
  assert.equal(process.count(token), 0);
  assert.equal(process.count(await hashOf(token)) > 0, true, "the ledger has its hash");
  assert.ok(
    process.acts.every((act) => !act.includes(token)),
    "a scenario does not have it",
  );
  assert.ok(
    process.log.every(({ says }) => !says.includes(token)),
    "the log does not have it",
  );
});

test("a delivery that counts no longer is refused or ignored, and the form is told why", async () => {
  const process = await started();
  await process.does({ do: "create_trigger", trigger: build });
  const first = tokenOf(process);
  await process.does(deliver(first, "n1"));
  const repeated = await process.does(deliver(first, "n1"));
  assert.match(
    `${repeated?.code}: ${repeated?.message}`,
    /^ignored: ignored: duplicate \(entry \d+\)$/,
  );
  const again = await process.does({ do: "create_trigger", trigger: build });
  assert.match(again?.message ?? "", /duplicate|conflict/, "a second trigger with this id");
  assert.equal(tokenOf(process), first, "the token of what was ignored is not shown");
  assert.equal((await process.does(deliver("wkt_0000")))?.message, "no trigger has this token");
  assert.equal(await process.does({ do: "rotate_trigger", external_trigger_id: "build" }), null);
  const second = tokenOf(process);
  assert.notEqual(second, first);
  assert.equal((await process.does(deliver(first)))?.message, "no trigger has this token");
  assert.equal(await process.does(deliver(second)), null);
  const revoke = '{"fact":"external_trigger_revoked","external_trigger_id":"build"}';
  assert.equal(await process.does({ do: "say", fact: revoke }), null);
  assert.deepEqual(view(process).triggers, []);
  assert.match(
    (await process.does({ do: "say", fact: revoke }))?.message ?? "",
    /already_terminal/,
  );
  assert.equal((await process.does(deliver(second)))?.message, "no trigger has this token");
  assert.equal(process.count('"status":"revoked"'), 1);
});

test("another process does not know the token, and the trigger takes it still", async () => {
  const process = await started();
  await process.does({ do: "create_trigger", trigger: { ...build, expires_in_ms: 60_000 } });
  const token = tokenOf(process);
  const second = process.crash();
  await second.does({ do: "open", behaviour: SAYS });
  assert.equal(view(second).triggers[0]?.token, null);
  assert.equal(await second.does(deliver(token)), null);
  await second.does({ do: "advance", by_ms: 60_000 });
  assert.deepEqual(view(second).triggers, [], "it has expired");
  assert.notEqual(await second.does(deliver(token)), null);
});

test("a budget that is used up holds back until a grant, and until midnight", async () => {
  const process = await started({ ...SAYS, tokens: 10 });
  await process.does({ do: "say", fact: '{"fact":"budget_set","tokens_per_day":10}' });
  await process.does(prompt);
  const used = () => view(process).budgets[0]?.limits[0];
  assert.deepEqual(used(), {
    limit: "tokens_per_day",
    used: 10,
    of: 10,
    renews_at: "2026-05-28T00:00:00Z",
  });
  assert.equal(view(process).budgets[0]?.exhausted, true);
  await process.does({
    do: "say",
    fact: '{"fact":"wake_hint_submitted","reason":"look","body":{"type":"text","text":"news"}}',
  });
  const turns = () => process.count('"last_assistant_message"');
  assert.equal(turns(), 1, "the hint waits");
  const grant = '{"fact":"budget_granted","grant_id":"g","tokens":5}';
  assert.equal(await process.does({ do: "say", fact: grant }), null);
  assert.equal(turns(), 2, "the hint started a turn");
  assert.match((await process.does({ do: "say", fact: grant }))?.message ?? "", /duplicate/);
  assert.deepEqual(view(process).limits, [{ tokens_per_day: 10 }], "a grant is not a limit");
  await process.does(prompt);
  assert.equal(turns(), 3);
  assert.equal(view(process).next_wake, "2026-05-28T00:00:00Z");
  await process.does({ do: "wake" });
  assert.equal(used()?.of, 10, "the grant was for its day");
  assert.equal(view(process).budgets[0]?.exhausted, false);
});

test("an open item has limits of its own", async () => {
  const process = await started({ ...SAYS, does: "make_item", tokens: 10 });
  await process.does(prompt);
  const [item = ""] = view(process).open_items;
  await process.does({
    do: "say",
    fact: JSON.stringify({ fact: "budget_set", work_item_id: item, tokens_total: 20 }),
  });
  assert.deepEqual(view(process).limits, [{}, { work_item_id: item, tokens_total: 20 }]);
  assert.deepEqual(
    view(process).budgets.map(({ work_item_id }) => work_item_id),
    [item],
  );
});

test("stop aborts a turn, start continues, and a restart takes the ledger over", async () => {
  const process = await started({ ...SAYS, does: "never" });
  await process.does(prompt);
  await process.does({ do: "say", fact: '{"fact":"stop_requested"}' });
  assert.equal(view(process).status, "stopped");
  assert.equal(view(process).run, null);
  await process.does({ do: "say", fact: '{"fact":"start_requested"}' });
  assert.notEqual(view(process).status, "stopped");
  await process.does({ do: "restart" });
  assert.equal(process.count('"control":"runtime_restarted"'), 2);
});

test("a second tab gets an error; a shutdown releases the ledger, and the next process continues", async () => {
  const process = await started({ ...SAYS, does: "never" });
  await process.does(prompt);
  const second = new Process(process.disk);
  assert.equal((await second.does({ do: "open", behaviour: SAYS }))?.code, "in_use");
  await process.does({ do: "arm", fault: "fail_append" });
  assert.equal(
    (await process.does({ do: "shut_down" }))?.code,
    "ledger_failed",
    "it stays open until the shutdown is recorded",
  );
  assert.equal(await process.does({ do: "shut_down" }), null);
  assert.equal(process.view, null);
  assert.equal((await process.does(prompt))?.code, "wrong_state");
  assert.equal(await second.does({ do: "open", behaviour: SAYS }), null);
  assert.equal(
    second.count('"last_assistant_message":"hello"'),
    1,
    "the message of the run that the shutdown interrupted is replayed",
  );
});

/**
 * Plays the actions of a scenario with only a scheduler over a ledger. Returns the ledger's lines.
 */
function replayed(acts: string[]): string[] {
  const ledger = new MemoryLedger();
  let [now, fails] = [BigInt(BEGINS) * MS, false];
  const nothing = () => {};
  const failing = {
    append: (...batch: Parameters<OwnLedger["append"]>) => {
      if (fails) {
        fails = false;
        throw new Error("as the scenario says");
      }
      ledger.append(...batch);
    },
    read: (after: number, limit: number) => ledger.read(after, limit),
  };
  const provider = {
    startTurn: nothing,
    interject: nothing,
    yieldTurn: nothing,
    abortTurn: nothing,
    release: nothing,
  };
  const drive = () =>
    guest.Scheduler.drive(
      { agent_id: "default" },
      { ledger: failing, clock: { now: () => now }, provider },
    );
  let scheduler = drive();
  const does: Record<string, (rest: string) => unknown> = {
    clock: (at) => (now = BigInt(Date.parse(at)) * MS),
    say: (fact) => scheduler.propose(fact),
    run: () => scheduler.runUntilRest(),
    append: () => (fails = true),
    restart: () => (scheduler = drive()),
  };
  for (const act of acts) {
    const [verb = "", ...rest] = act.split(" ");
    const play = does[verb] ?? assert.fail(`no scenario says \`${act}\``);
    try {
      play(rest.join(" "));
    } catch (error) {
      assert.match(String(error), /as the scenario says|malformed/, act);
    }
  }
  return ledger.lines;
}

test("the actions are a scenario, and playing it gives the same ledger", async () => {
  const first = await started({ ...SAYS, does: "make_item", takes_ms: 500 });
  await first.does(prompt);
  await first.does({ do: "arm", fault: "fail_append" });
  await first.does({ do: "prompt", text: "and then", priority: "next" });
  first.sleep(1000);
  await first.does({
    do: "say",
    fact: '{"fact":"timer_created",\n"timer_id":"t","duration_ms":60000}',
  });
  await first.does({ do: "say", fact: '{"fact":"timer_created"}' });
  await first.does({ do: "create_trigger", trigger: build });
  await first.does(deliver(tokenOf(first)));
  await first.does({ do: "wake" });
  const second = first.crash();
  await second.does({ do: "open", behaviour: { ...SAYS, does: "complete_item" } });
  await second.does({ do: "advance", by_ms: 120_000 });
  assert.ok(
    first.acts.includes("append fails") && second.acts.includes("restart"),
    "the actions include a failure and a crash",
  );
  assert.deepEqual(replayed([...first.acts, ...second.acts]), second.disk.lines);
});
