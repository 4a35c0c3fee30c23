"""What the tests of misbehaving hosts share: tests from tables, and what must be true after each."""

import json
import unittest

from wasmtime import WasmtimeError

from guest import Refused
from host import Host, prompt


class each:
    """Makes a test for each entry of a table, named after it."""

    def __init__(self, table):
        self.table = table

    def __call__(self, test):
        self.test = test
        return self

    def __set_name__(self, owner, name):
        delattr(owner, name)
        for what, entry in self.table.items():
            setattr(owner, f"{name}: {what}", lambda case, entry=entry: self.test(case, entry))


class HostTest(unittest.TestCase):
    """The end of a call, and the ledger after it."""

    def refused(self, codes, call, *args):
        with self.assertRaises(Refused) as caught:
            call(*args)
        self.assertIn(caught.exception.error.code, codes)
        self.assertGreater(len(caught.exception.error.message), 10)
        return caught.exception.error

    def is_whole(self, lines):
        """A fresh instance with an honest host continues from this ledger."""
        host = Host(lines)
        agent = host.open()
        self.assertEqual(json.loads(agent.call("propose", prompt("and on")))["answer"], "accepted")
        agent.call("run-until-rest")
        state = agent.call("state")
        self.assertEqual(Host(host.lines).open("observe").call("state"), state)
        self.assertEqual(json.loads(state)["head"]["seq"], len(host.lines))

    def is_over(self, agent):
        with self.assertRaisesRegex(WasmtimeError, "cannot enter component instance"):
            agent.call("summary")
