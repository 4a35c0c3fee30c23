// One agent over the death of its host. `life.rs` and `life.py` tell the same life, and all three
// end with the same head.
//
// `node dist/life.js begin LEDGER` lives until the agent waits, and then dies without cleaning up.
// `node dist/life.js go-on LEDGER` is another process: it has only the ledger, and that is enough.
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from "node:fs";

import { type Fact, type MessageKind, Scheduler, type TurnRequest } from "@wakeful/scheduler";
import { LogLedger, type SyncFile } from "@wakeful/scheduler/log";

// What the clock shows when the first process begins, and when the second one does.
const BEGIN = "2026-05-27T09:00:00Z";
const GO_ON = "2026-05-27T09:20:00Z";

/** A file of Node: synchronous, and on the disk when `flush` returns. */
function openFile(path: string): SyncFile {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT);
  return {
    read: (buffer, { at }) => readSync(file, buffer, 0, buffer.length, at),
    write: (buffer, { at }) => writeSync(file, buffer, 0, buffer.length, at),
    truncate: (size) => ftruncateSync(file, size),
    flush: () => fsyncSync(file),
    getSize: () => fstatSync(file).size,
    close: () => closeSync(file),
  };
}

/** The agent with what its host keeps for it. */
class Host {
  readonly agent: Scheduler;
  readonly #turns: TurnRequest[] = [];

  /** Nanoseconds. A real host asks the system; this program moves the hands of its clock itself. */
  now: bigint;

  /** Opens the ledger as its driver, whether it is new or a process died over it. */
  constructor(ledger: string, now: string) {
    this.now = BigInt(Date.parse(now)) * 1_000_000n;
    this.agent = Scheduler.drive(
      { agent_id: "ada" },
      {
        ledger: new LogLedger(openFile(ledger)),
        clock: { now: () => this.now },
        provider: {
          // The provider must return at once. So this one only notes the turn.
          startTurn: (request) => void this.#turns.push(request),
          interject() {},
          yieldTurn() {},
          abortTurn() {},
          // Which tasks outlived the process that started them. A build server runs `build`, so
          // this host asks that server. Every task that is not named here becomes interrupted.
          alive: () => ["build"],
          release() {},
        },
      },
    );
  }

  /** Reports a fact. When this returns, the fact is on the disk. */
  say(fact: Fact): void {
    this.agent.propose(fact);
  }

  /** The loop of every host: decide until the agent rests, execute the turns, and repeat. */
  run(): void {
    for (;;) {
      for (const { decision } of this.agent.runUntilRest()) {
        if (decision) {
          this.#print(`${decision.decision} (${decision.reason})`);
        }
      }
      const request = this.#turns.pop();
      if (request === undefined) {
        break;
      }
      for (const fact of turn(request.message.kind)) {
        this.say(fact);
      }
      // Without this fact the run stays open, and nothing else starts.
      this.say({ fact: "turn_terminal", run_id: request.run_id, kind: "completed" });
    }
    const { sentence, head } = this.agent.explain("run_loop_idle");
    this.#print(sentence);
    console.log(`head ${head.seq} ${head.chain}`);
  }

  #print(text: string): void {
    const time = new Date(Number(this.now / 1_000_000n)).toISOString().slice(11, 16);
    console.log(`${time} ${text}`);
  }
}

/** What the model does in a turn. A real host asks a model, and its tool calls are these facts. */
function turn(kind: MessageKind): Fact[] {
  switch (kind) {
    // The operator asks for a release. The agent notes what it works on, and that it works on it
    // now. It starts a build, and the item waits for that.
    case "operator_prompt":
      return [
        {
          fact: "work_item_created",
          work_item_id: "release",
          objective: "release version 1.0",
        },
        { fact: "work_item_picked", work_item_id: "release" },
        {
          fact: "task_created",
          task_id: "build",
          task_kind: "command_task",
          work_item_id: "release",
          wait_policy: "blocking",
        },
      ];
    // The build is there. The item waits for the timer now; without a wait the scheduler would
    // offer it to the model again, because there is still something to do.
    case "task_result":
      return [
        {
          fact: "wait_condition_registered",
          wait_condition_id: "first-hour",
          work_item_id: "release",
          kind: "timer",
          waiting_for: "the first hour",
          wake_sources: [
            { kind: "timer", timer_id: "look-again", wake_at: "2026-05-27T10:00:00Z" },
          ],
        },
      ];
    // The hour is over, and so is the work.
    case "timer_tick":
      return [
        {
          fact: "work_item_completed",
          work_item_id: "release",
          result_summary: "version 1.0 is out",
        },
      ];
    default:
      return [];
  }
}

function begin(ledger: string): void {
  const host = new Host(ledger, BEGIN);
  // The host chooses the ids of what comes from outside. So it may repeat a fact after a crash:
  // what the ledger knows already is ignored.
  host.say({
    fact: "message_queued",
    message: {
      id: "m1",
      kind: "operator_prompt",
      origin: { kind: "operator" },
      trust: "trusted_operator",
      body: { type: "text", text: "release version 1.0" },
    },
  });
  host.run();
  // A duration and not an instant: the scheduler works out when that is.
  host.say({ fact: "timer_created", timer_id: "look-again", duration_ms: 3_600_000 });
  host.run();
  // Nothing is closed, and no `finally` runs.
  process.kill(process.pid, "SIGKILL");
}

function goOn(ledger: string): void {
  const host = new Host(ledger, GO_ON);
  // The build server calls back. Its result becomes a message, and that starts a turn.
  host.say({ fact: "task_completed", task_id: "build", summary: "all tests passed" });
  host.run();
  // A real host sets an alarm for this instant. No fact says that it came: the scheduler reads the
  // clock, and the timer fires.
  const wake = host.agent.nextWake();
  if (wake === undefined) {
    throw new Error("the timer is lost");
  }
  host.now = wake;
  host.run();
}

const [command, ledger] = process.argv.slice(2);
if (command === "begin" && ledger !== undefined) {
  begin(ledger);
} else if (command === "go-on" && ledger !== undefined) {
  goOn(ledger);
} else {
  console.error("usage: node life.js begin LEDGER, then node life.js go-on LEDGER");
  process.exitCode = 1;
}
