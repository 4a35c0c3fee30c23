"""An honest host in memory. The lies of `hostile.py` replace its answers."""

import json

from wasmtime.component import Variant

START = 1_780_000_000_000_000_000
OPTIONS = json.dumps({"agent_id": "a"})
FUEL = 10_000_000_000
MEMORY_BYTES = 256 << 20


def prompt(message_id, **more):
    return json.dumps({"fact": "message_queued", "message": {
        "id": message_id, "kind": "operator_prompt", "origin": {"kind": "operator"},
        "trust": "trusted_operator", "body": {"type": "text", "text": "hello"}, **more,
    }})


class Host:
    """A ledger in memory, a clock that does not move, and a provider that accepts everything. `answers` has the imports by name."""

    guest = None
    """The compiled component, shared by all."""

    def __init__(self, lines=()):
        self.lines = list(lines)
        self.ends = [len(self.lines)]
        self.answers = {
            "ledger.append": self.append,
            "ledger.read": self.read,
            "ledger.load-snapshot": lambda: Variant("ok", None),
            "ledger.store-snapshot": lambda head, snapshot: None,
            "clock.now": lambda: START,
            "provider.start-turn": lambda request: None,
            "provider.interject": lambda run_id, message_id: None,
            "provider.yield-turn": lambda run_id: None,
            "provider.abort-turn": lambda run_id, reason: None,
            "provider.alive": lambda task_ids: task_ids,
            "provider.release": lambda: None,
        }

    def append(self, expected, batch):
        chain = json.loads(self.lines[-1])["chain"] if self.lines else expected.chain
        if (expected.seq, expected.chain) != (len(self.lines), chain):
            return len(self.lines)
        self.lines += batch
        self.ends.append(len(self.lines))

    def read(self, after, limit):
        return self.lines[after : after + limit]

    def instance(self, **limits):
        limits = {"fuel": FUEL, "memory_bytes": MEMORY_BYTES, **limits}
        self.agent = self.guest.instantiate(lambda name, _: lambda *args: self.answers[name](*args), **limits)
        return self.agent

    def open(self, mode="drive", agent_id="a", **limits):
        agent = self.instance(**limits)
        agent.call("open", json.dumps({"agent_id": agent_id}), mode)
        return agent


def told(facts, agent_id="a"):
    """The ledger of an agent after these facts, and its snapshot."""
    host = Host()
    agent = host.open(agent_id=agent_id)
    for fact in facts:
        agent.call("propose", fact)
    return host.lines, agent.call("snapshot")
