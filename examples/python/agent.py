"""An agent in Python: the scheduler's component in wasmtime, and a ledger in a file.

    python agent.py GUEST LEDGER TEXT

says TEXT to the agent as its operator, and prints what is decided and why. Run it again: the agent goes on from its file.
"""

import json
import os
import sys
import time

from wasmtime import Config, Engine, Store, WasmtimeError
from wasmtime.component import Component, Linker, Record, Variant

WORLD = "wakeful:scheduler/{}@0.2.0"


# The type of the answer of an import says whether it is an error: nothing and a list are success,
# a number and a text are errors. `Variant` is for answers whose type does not tell.
class FileLedger:
    """One line per entry. A batch is written at once and synced before `append` returns.

    A batch that a crash cut off has no end mark.
    """

    def __init__(self, path):
        self.file = open(path, "a+", encoding="utf-8", newline="\n")
        self.file.seek(0)
        self.lines, batch, whole, at = [], [], 0, 0
        for line in self.file.read().splitlines(keepends=True):
            at += len(line.encode())
            if line == "\n":
                self.lines, batch, whole = self.lines + batch, [], at
            else:
                batch.append(line.removesuffix("\n"))
        self.file.truncate(whole)

    def append(self, _store, expected, batch):
        chain = json.loads(self.lines[-1])["chain"] if self.lines else "0" * 64
        if (expected.seq, expected.chain) != (len(self.lines), chain):
            return len(self.lines)  # A number means `conflict`.
        self.file.write("".join(line + "\n" for line in batch) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        self.lines += batch

    def read(self, _store, after, limit):
        return self.lines[after : after + limit]

    def load_snapshot(self, _store):
        return Variant("ok", None)  # This host keeps none: the ledger is read from its first entry.

    def store_snapshot(self, _store, head, snapshot):
        pass


class Provider:
    """Executes turns; this one only prints them. A real one reports their results as facts."""

    def start_turn(self, _store, request):
        print("turn started for:", json.loads(request)["message"]["body"]["text"])

    def interject(self, _store, run_id, message_id):
        print("interjected:", message_id)

    def yield_turn(self, _store, run_id):
        pass

    def abort_turn(self, _store, run_id, reason):
        pass

    def alive(self, _store, task_ids):
        return []

    def release(self, _store):
        pass


class Clock:
    def now(self, _store):
        return time.time_ns()


def kept_in(function):
    """An import that raises nothing but an `Exception`.

    Ctrl-C or `sys.exit` in an import would end the process inside wasmtime's package.
    """

    def answer(*args):
        try:
            return function(*args)
        except BaseException as why:
            raise RuntimeError(f"an import was ended by {type(why).__name__}: {why}") from why

    return answer


class Scheduler:
    """One instance of the guest: one agent."""

    def __init__(self, path, ledger, clock, provider, fuel_per_call=1_000_000_000):
        config = Config()
        config.consume_fuel = True
        engine = Engine(config)
        component = Component.from_file(engine, path)
        linker = Linker(engine)
        with linker.root() as root:
            for name, part in [("ledger", ledger), ("clock", clock), ("provider", provider)]:
                with root.add_instance(WORLD.format(name)) as instance:
                    for method in vars(type(part)):
                        if not method.startswith("_"):
                            instance.add_func(method.replace("_", "-"), kept_in(getattr(part, method)))
        self.fuel_per_call = fuel_per_call
        self.store = Store(engine)
        self.store.set_fuel(fuel_per_call)
        self.instance = linker.instantiate(self.store, component)
        self.exports = component.get_export_index(WORLD.format("agent"))
        self.component = component

    def __getattr__(self, name):
        function = self.instance.get_func(self.store, self.component.get_export_index(name.replace("_", "-"), self.exports))

        def call(*args):
            self.store.set_fuel(self.fuel_per_call)
            answer = function(self.store, *args)
            if isinstance(answer, Record):
                raise RuntimeError(f"{answer.code}: {answer.message}")
            return json.loads(answer) if isinstance(answer, str) else answer

        return call


def main(guest, path, text):
    scheduler = Scheduler(guest, FileLedger(path), Clock(), Provider())
    head = scheduler.open(json.dumps({"agent_id": "ada"}), "drive")
    scheduler.propose(json.dumps({"fact": "message_queued", "message": {
        "id": f"said-after-{head['seq']}", "kind": "operator_prompt", "origin": {"kind": "operator"},
        "trust": "trusted_operator", "body": {"type": "text", "text": text},
    }}))
    for step in scheduler.run_until_rest():
        if decision := step["decision"]:
            print(decision["decision"], f"({decision['reason']})")
    print("now:", scheduler.explain("run_loop_idle")["sentence"])


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python agent.py GUEST LEDGER TEXT")
    try:
        main(*sys.argv[1:])
    except (OSError, RuntimeError, WasmtimeError) as why:
        sys.exit(f"error: {why}")
