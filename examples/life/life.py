"""One agent over the death of its host. `life.rs` and `life.ts` tell the same life, and all three end with the same head.

    python life.py GUEST begin LEDGER

lives until the agent waits, and then dies without cleaning up.

    python life.py GUEST go-on LEDGER

is another process: it has only the ledger, and that is enough.
"""

import json
import os
import pathlib
import signal
import sys
from datetime import datetime, timezone

# The ledger in a file, and the component in wasmtime: they are those of the other example in Python.
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python"))
from agent import FileLedger, Scheduler

NANOS = 1_000_000_000

# What the clock shows when the first process begins, and when the second one does.
BEGIN = int(datetime(2026, 5, 27, 9, 0, tzinfo=timezone.utc).timestamp()) * NANOS
GO_ON = int(datetime(2026, 5, 27, 9, 20, tzinfo=timezone.utc).timestamp()) * NANOS


class Hands:
    """The clock. A real host asks the system; this program moves the hands itself, so that each run makes the same entries."""

    def __init__(self, nanos):
        self.nanos = nanos

    def now(self, _store):
        return self.nanos


class Turns:
    """The provider. It is asked to start turns, and must return at once. So this one only notes them."""

    def __init__(self):
        self.requests = []

    def start_turn(self, _store, request):
        self.requests.append(json.loads(request))

    def alive(self, _store, task_ids):
        # Which tasks outlived the process that started them. A build server runs `build`, so this host asks that server.
        # Every task that is not named here becomes interrupted.
        return ["build"]

    def interject(self, _store, run_id, message_id):
        pass

    def yield_turn(self, _store, run_id):
        pass

    def abort_turn(self, _store, run_id, reason):
        pass

    def release(self, _store):
        pass


class Host:
    """The agent with what its host keeps for it."""

    def __init__(self, guest, ledger, now):
        """Opens the ledger as its driver, whether it is new or a process died over it."""
        self.clock, self.turns = Hands(now), Turns()
        self.agent = Scheduler(guest, FileLedger(ledger), self.clock, self.turns)
        self.agent.open(json.dumps({"agent_id": "ada"}), "drive")

    def say(self, fact):
        """Reports a fact. When this returns, the fact is on the disk."""
        self.agent.propose(json.dumps(fact))

    def run(self):
        """The loop of every host: decide until the agent rests, execute the turns, and repeat."""
        while True:
            for step in self.agent.run_until_rest():
                if decision := step["decision"]:
                    self.print(f"{decision['decision']} ({decision['reason']})")
            if not self.turns.requests:
                break
            request = self.turns.requests.pop()
            for fact in turn(request["message"]["kind"]):
                self.say(fact)
            # Without this fact the run stays open, and nothing else starts.
            self.say({"fact": "turn_terminal", "run_id": request["run_id"], "kind": "completed"})
        explained = self.agent.explain("run_loop_idle")
        self.print(explained["sentence"])
        print("head", explained["head"]["seq"], explained["head"]["chain"], flush=True)

    def print(self, text):
        print(datetime.fromtimestamp(self.clock.nanos // NANOS, timezone.utc).strftime("%H:%M"), text)


def turn(kind):
    """What the model does in a turn. A real host asks a model, and its tool calls are these facts."""
    if kind == "operator_prompt":
        # The operator asks for a release. The agent notes what it works on, and that it works on it now.
        # It starts a build, and the item waits for that.
        return [
            {"fact": "work_item_created", "work_item_id": "release", "objective": "release version 1.0"},
            {"fact": "work_item_picked", "work_item_id": "release"},
            {
                "fact": "task_created", "task_id": "build", "task_kind": "command_task",
                "work_item_id": "release", "wait_policy": "blocking",
            },
        ]
    if kind == "task_result":
        # The build is there. The item waits for the timer now; without a wait the scheduler would offer it to the model again,
        # because there is still something to do.
        return [{
            "fact": "wait_condition_registered", "wait_condition_id": "first-hour", "work_item_id": "release",
            "kind": "timer", "waiting_for": "the first hour",
            "wake_sources": [{"kind": "timer", "timer_id": "look-again", "wake_at": "2026-05-27T10:00:00Z"}],
        }]
    if kind == "timer_tick":
        # The hour is over, and so is the work.
        return [{"fact": "work_item_completed", "work_item_id": "release", "result_summary": "version 1.0 is out"}]
    return []


def begin(guest, ledger):
    host = Host(guest, ledger, BEGIN)
    # The host chooses the ids of what comes from outside. So it may repeat a fact after a crash: what the ledger knows already
    # is ignored.
    host.say({"fact": "message_queued", "message": {
        "id": "m1", "kind": "operator_prompt", "origin": {"kind": "operator"},
        "trust": "trusted_operator", "body": {"type": "text", "text": "release version 1.0"},
    }})
    host.run()
    # A duration and not an instant: the scheduler works out when that is.
    host.say({"fact": "timer_created", "timer_id": "look-again", "duration_ms": 3_600_000})
    host.run()
    # Nothing is closed, and no `finally` runs.
    os.kill(os.getpid(), signal.SIGKILL)


def go_on(guest, ledger):
    host = Host(guest, ledger, GO_ON)
    # The build server calls back. Its result becomes a message, and that starts a turn.
    host.say({"fact": "task_completed", "task_id": "build", "summary": "all tests passed"})
    host.run()
    # A real host sets an alarm for this instant. No fact says that it came: the scheduler reads the clock, and the timer fires.
    host.clock.nanos = host.agent.next_wake()
    host.run()


if __name__ == "__main__":
    match sys.argv[1:]:
        case [guest, "begin", ledger]:
            begin(guest, ledger)
        case [guest, "go-on", ledger]:
            go_on(guest, ledger)
        case _:
            sys.exit("usage: python life.py GUEST begin LEDGER, then python life.py GUEST go-on LEDGER")
