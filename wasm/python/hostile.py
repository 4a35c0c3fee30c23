"""Hosts that misbehave, in Python: their imports raise, lie, have the wrong type or call the guest again.

    python hostile.py COMPONENT [options of unittest]

Each gets an error of the world, or an exception; then the ledger that is really there is whole, and a fresh instance goes on from it.
The same lies are told natively and in the sandbox (`host-native/tests/lying.rs`) and in JavaScript (`npm/test/hostile.mjs`).
"""

import json
import sys
import unittest
from concurrent.futures import Future, ThreadPoolExecutor

from wasmtime import WasmtimeError
from wasmtime.component import Variant

from case import HostTest, each
from guest import Guest, Refused
from host import OPTIONS, START, Host, prompt, told

TASK = '{"fact":"task_created","task_id":"known","task_kind":"command_task"}'
ERROR = '{"fact":"runtime_error","error":"once more"}'

# Calls for which the guest needs all its imports: there is a task, and a snapshot is due.
LIFE = [
    ("open", OPTIONS, "drive"),
    ("propose", prompt("m1")),
    ("run-until-rest",),
    ("propose", prompt("m2", priority="interject")),
    ("step", "after_tool_results"),
    ("propose", '{"fact":"wait_condition_registered","wait_condition_id":"noon","kind":"timer","waiting_for":"noon",'
                '"wake_sources":[{"kind":"timer","wake_at":"2026-06-01T12:00:00Z"}]}'),
    ("propose", '{"fact":"stop_requested"}'),
]


class Short(list):
    """A list that lies about its length."""

    def __len__(self):
        return 1


class Text(str):
    """A text that encodes itself, but not as UTF-8."""

    def encode(self, *_):
        return b"\xff"


class Pretending:
    """An object that claims to be a text, as mocks do."""

    __class__ = str

    def encode(self, *_):
        return b"\xff"


def circle():
    """A list that is part of itself."""
    endless = []
    endless.append(endless)
    return endless


class Unsayable(Exception):
    """An error whose text raises."""

    def __str__(self):
        raise self


RAISED = {
    "an error": ValueError("the disk is full"),
    "an error whose text raises": Unsayable(),
    "the end of an iteration": StopIteration(),
    "too deep a recursion": RecursionError(),
    "no memory": MemoryError(),
    "Ctrl-C": KeyboardInterrupt(),
    "the end of the program": SystemExit(3),
    "the end of a generator": GeneratorExit(),
    # The same object each time: the package can use it once.
    "an error of wasmtime": WasmtimeError("the disk is full"),
}

GIVEN = {
    "None": None,
    "an int": 7,
    "a bool": True,
    "a float": 7.0,
    "a text": "no",
    "half a surrogate": "\ud800",
    "bytes": b"no",
    "a list": [],
    "a list of ints": [7],
    "a list of None": [None],
    "a list of lists": [["no"]],
    "a list with half a surrogate": ["no", "\ud800"],
    "a list that lies about its length": Short(["no"] * 1000),
    "a list that is part of itself": circle(),
    "a tuple": ("no",),
    "a dict": {"err": "no"},
    "a text that encodes itself": Text("no"),
    "an object that says it is a text": Pretending(),
    "a class": str,
    "a promise": Future(),
    "an unknown case": Variant("neither"),
    "a case with another payload": Variant("ok", 7),
    "a case that is not a text": Variant(7),
}

# Those of them that an import may return.
FITS = {
    "ledger.append": ["None", "an int", "a text"],
    "ledger.read": ["a list", "an int", "a text"],
    "ledger.load-snapshot": [],
    "ledger.store-snapshot": ["None", "an int", "a text"],
    "clock.now": ["an int"],
    "provider.start-turn": ["None", "a text"],
    "provider.interject": ["None", "a text"],
    "provider.yield-turn": ["None", "a text"],
    "provider.abort-turn": ["None", "a text"],
    "provider.alive": ["a list", "a text"],
    "provider.release": ["None", "a text"],
}


POOL = ThreadPoolExecutor(1)

# Ways to call the guest while the guest calls the host.
AGAIN = {
    "itself": lambda call: call(),
    "in another thread": lambda call: POOL.submit(call).result(),
}


class AnyImport(HostTest):
    """True for every import: an exception ends the call and the instance, and the ledger is a prefix of an honest one."""

    @classmethod
    def setUpClass(cls):
        cls.before, _ = told([TASK, *[ERROR] * 256])
        cls.honest, cls.asked = Host(cls.before), set()
        for name, answer in cls.honest.answers.items():
            cls.honest.answers[name] = lambda *args, name=name, answer=answer: cls.asked.add(name) or answer(*args)
        cls.live(cls.honest)

    @staticmethod
    def live(host):
        agent = host.instance()
        for call in LIFE:
            agent.call(*call)

    def ends(self, name, answer, errors):
        """The exception that ends an agent if this import answers so. Its ledger is one that an honest host had."""
        host = Host(self.before)
        host.answers[name] = lambda *_: answer(host)
        with self.assertRaises(errors) as caught:
            self.live(host)
        self.is_over(host.agent)
        self.assertIn(len(host.lines), self.honest.ends)
        self.assertEqual(host.lines, self.honest.lines[: len(host.lines)])
        self.is_whole(host.lines)
        return caught.exception

    def lives(self, name, before):
        """An agent lives the same life if this import does something before it answers."""
        host = Host(self.before)
        honest = host.answers[name]
        host.answers[name] = lambda *args: before(host) or honest(*args)
        self.live(host)
        self.assertEqual(host.lines, self.honest.lines)

    def test_an_honest_host_is_asked_for_everything(self):
        self.assertEqual(self.asked, set(self.honest.answers))
        self.assertEqual(set(FITS), self.asked)

    @each({f"{name} raises {what}": (name, why) for name in FITS for what, why in RAISED.items()})
    def test_what_is_raised_comes_out_of_the_call(self, entry):
        name, why = entry

        def answer(_):
            raise why

        self.assertIs(self.ends(name, answer, type(why)), why)

    @each({f"{name} gives {what}": (name, value) for name in FITS for what, value in GIVEN.items() if what not in FITS[name]})
    def test_what_has_another_type_is_an_exception(self, entry):
        name, value = entry
        self.ends(name, lambda _: value, (TypeError, ValueError, RecursionError))

    @each({f"{name}, {how}": (name, again) for name in FITS for how, again in AGAIN.items()})
    def test_a_host_that_calls_the_guest_again_is_told_so(self, entry):
        name, again = entry
        why = self.ends(name, lambda host: again(lambda: host.agent.call("propose", prompt("m3"))), WasmtimeError)
        self.assertIn("cannot enter component instance", str(why))

    @each({f"{name}, {how}": (name, again) for name in FITS for how, again in AGAIN.items()})
    def test_a_host_that_bears_to_be_told_so_is_none_the_worse(self, entry):
        name, again = entry
        told_so = []

        def before(host):
            for call in LIFE:
                with self.assertRaisesRegex(WasmtimeError, "cannot enter component instance"):
                    again(lambda call=call: host.agent.call(*call))
                told_so.append(call)

        self.lives(name, before)
        self.assertGreaterEqual(len(told_so), len(LIFE))

    @each({f"{name}, {how}": (name, again) for name in FITS for how, again in AGAIN.items()})
    def test_a_host_that_drives_another_agent_meanwhile_is_none_the_worse(self, entry):
        name, again = entry
        another = Host(self.before)
        self.lives(name, lambda _: None if another.lines != self.before else again(lambda: self.live(another)))
        self.assertEqual(another.lines, self.honest.lines)


def change(page, how):
    """The page with its first prompt changed."""
    at = next(index for index, line in enumerate(page) if "hello" in line)
    return [*page[:at], how(page[at]), *page[at + 1 :]]


# Faults of a page. It follows the entry `after`; `ledgers` has the whole ledgers.
PAGES = {
    "backwards": lambda page, after, ledgers: page[::-1],
    "a gap": lambda page, after, ledgers: [*page[:2], *page[3:]],
    "twice the same line": lambda page, after, ledgers: [page[0], page[1], *page[1:]],
    "always the first": lambda page, after, ledgers: ledgers["truth"][:3],
    "another agent's": lambda page, after, ledgers: ledgers["another agent's"][after:],
    "another history": lambda page, after, ledgers: [*page[:3], *ledgers["another history"][after + 3 :]],
    "an altered byte": lambda page, after, ledgers: change(page, lambda line: line.replace("hello", "jello", 1)),
    "a cut line": lambda page, after, ledgers: change(page, lambda line: line[: len(line) // 2]),
    "no JSON": lambda page, after, ledgers: change(page, lambda line: "no JSON"),
    "deep brackets": lambda page, after, ledgers: change(page, lambda line: "[" * 1_000_000),
    "an empty line": lambda page, after, ledgers: change(page, lambda line: ""),
    "a nul": lambda page, after, ledgers: change(page, lambda line: line.replace("hello", "\0", 1)),
}

SNAPSHOTS = {
    "garbage": lambda snapshots: "\ufeff[[[",
    "another agent's": lambda snapshots: snapshots["another agent's"],
    "another history": lambda snapshots: snapshots["another history"],
    "altered": lambda snapshots: snapshots["truth"].replace("hello", "jello", 1),
}

# What an append does instead of storing, and the outcomes of the next calls: a fact, after which the ledger is honest again, another fact,
# and a catch-up; and which of the two facts are stored.
APPENDS = {
    "says stored": (lambda host, *_: None, (None, "conflict", "cannot-open"), []),
    "stores and fails": (lambda host, *args: host.append(*args) or "no answer", ("ledger-failed", "conflict", 2), ["m5"]),
    "fails": (lambda host, *_: "no answer", ("ledger-failed", None, 0), ["m6"]),
    "fails at length": (lambda host, *_: "no\0\u202e" * 1_000_000, ("ledger-failed", None, 0), ["m6"]),
    "conflicts with nobody": (lambda host, *_: len(host.lines), ("conflict", None, 0), ["m6"]),
    "conflicts at the first entry": (lambda host, *_: 0, ("conflict", None, 0), ["m6"]),
    "conflicts at nowhere": (lambda host, *_: 2**64 - 1, ("conflict", None, 0), ["m6"]),
    # The package truncates an int to the available bits.
    "conflicts below zero": (lambda host, *_: -1, ("conflict", None, 0), ["m6"]),
    "conflicts beyond 64 bits": (lambda host, *_: 2**64 + 7, ("conflict", None, 0), ["m6"]),
}


class Ledger(HostTest):
    """A ledger that returns entries that it never got, or claims to have stored what it has not."""

    @classmethod
    def setUpClass(cls):
        rest = [prompt(message_id) for message_id in ["m2", "m3", "m4"]]
        of = {
            "truth": told([prompt("m1"), *rest]),
            "another agent's": told([prompt("m1"), *rest], agent_id="b"),
            "another history": told([prompt("m0"), *rest]),
        }
        cls.ledgers = {name: lines for name, (lines, _) in of.items()}
        cls.snapshots = {name: snapshot for name, (_, snapshot) in of.items()}
        cls.truth = cls.ledgers["truth"]

    def lying(self, lie):
        """A host over an honest ledger that lies about every page which is not empty."""
        host = Host(self.truth)

        def read(after, limit):
            page = host.read(after, limit)
            return lie(page, after, self.ledgers) if page else page

        host.answers["ledger.read"] = read
        return host

    @each(PAGES)
    def test_a_ledger_that_gives_what_it_was_not_given_is_not_opened(self, lie):
        host = self.lying(lie)
        self.refused(["cannot-open"], host.open)
        self.assertEqual(host.lines, self.truth)
        self.is_whole(host.lines)

    @each(PAGES)
    def test_nor_is_it_caught_up_with_and_the_agent_waits_for_the_truth(self, lie):
        host = self.lying(lie)
        honest, host.answers["ledger.read"] = host.answers["ledger.read"], lambda after, limit: self.truth[after:4]
        agent = host.open("observe")
        state = agent.call("state")
        host.answers["ledger.read"] = honest
        self.refused(["cannot-open"], agent.call, "catch-up")
        host.answers["ledger.read"] = host.read
        agent.call("catch-up")
        self.assertEqual(agent.call("state"), Host(self.truth).open("observe").call("state"))
        self.assertNotEqual(agent.call("state"), state)

    def test_an_entry_of_a_hundred_megabytes_reaches_the_limit_of_memory_and_is_no_entry_where_there_is_room(self):
        host = self.lying(lambda page, *_: change(page, lambda _: '{"seq":4,"x":"' + "x" * (100 << 20) + '"}'))
        self.refused(["cannot-open"], host.open)
        with self.assertRaisesRegex(WasmtimeError, "wasm trap"):
            host.open(memory_bytes=64 << 20)
        self.is_over(host.agent)
        self.is_whole(host.lines)

    def test_a_ledger_without_end_reaches_the_limit_of_fuel(self):
        host = self.lying(lambda *_: ["{}"] * 1_000_000)
        with self.assertRaisesRegex(WasmtimeError, "all fuel consumed"):
            host.open(fuel=50_000_000)
        self.is_over(host.agent)
        self.is_whole(host.lines)

    def test_a_ledger_that_hides_its_entries_is_not_begun_again(self):
        host = self.lying(lambda *_: [])
        self.refused(["conflict"], host.open)
        self.assertEqual(host.lines, self.truth)
        self.is_whole(host.lines)

    def test_a_page_beyond_its_limit_is_none_the_worse(self):
        lines, _ = told([ERROR] * 1100)
        host, asked = Host(lines), []
        host.answers["ledger.read"] = lambda after, limit: asked.append(limit) or host.lines[after:]
        state = host.open("observe").call("state")
        self.assertLess(asked[0], len(lines))
        self.assertEqual(state, Host(lines).open("observe").call("state"))

    @each(APPENDS)
    def test_an_append_that_is_not_what_it_says_is_found_by_the_next_one(self, entry):
        lie, expected, kept = entry
        host, said = self.appending(lie)
        self.assertEqual(said, expected)
        self.assertEqual(host.lines, self.honest(kept))
        self.is_whole(host.lines)

    def test_half_a_batch_is_found_by_the_next_one(self):
        host, said = self.appending(lambda host, expected, batch: host.append(expected, batch[:1]))
        self.assertEqual(said, (None, "conflict", "cannot-open"))
        # The store is broken: the ledger opens, and the doctor reports an incomplete batch.
        self.assertEqual(host.lines, self.honest(["m5"])[:-1])
        self.is_whole(host.lines)

    def appending(self, lie):
        """Reports a fact with such an append and another with an honest one, and catches up."""
        host = Host(self.truth)
        agent = host.open()

        def code(*call):
            try:
                answer = agent.call(*call)
            except Refused as why:
                return why.error.code
            return answer if call == ("catch-up",) else None

        host.answers["ledger.append"] = lambda *args: lie(host, *args)
        first = code("propose", prompt("m5"))
        host.answers["ledger.append"] = host.append
        return host, (first, code("propose", prompt("m6")), code("catch-up"))

    def honest(self, message_ids):
        """The ledger of an honest host after these additional facts."""
        host = Host(self.truth)
        agent = host.open()
        for message_id in message_ids:
            agent.call("propose", prompt(message_id))
        return host.lines

    @each(SNAPSHOTS)
    def test_a_snapshot_that_lies_is_ignored_and_the_log_is_read(self, lie):
        self.is_as_without(Variant("ok", lie(self.snapshots)))

    def test_a_snapshot_that_fails_is_ignored_and_the_log_is_read(self):
        self.is_as_without(Variant("err", "no answer"))

    def is_as_without(self, snapshot):
        host = Host(self.truth)
        host.answers["ledger.load-snapshot"] = lambda: snapshot
        self.assertEqual(host.open("observe").call("state"), Host(self.truth).open("observe").call("state"))
        host.open().call("run-until-rest")
        self.is_whole(host.lines)


# The readings of the clock, by the number of earlier readings.
CLOCKS = {
    "runs backwards": lambda readings: START - readings * 3_600_000_000_000,
    "leaps to 1970 and back": lambda readings: START if readings % 2 == 0 else 0,
    "says the first instant": lambda readings: -(2**63),
    "says the last instant": lambda readings: 2**63 - 1,
    "leaps from end to end": lambda readings: 2**63 - 1 if readings % 2 == 0 else -(2**63),
    # The package truncates an int to the available bits: this is the first instant.
    "says what no i64 can": lambda readings: 2**63,
}


# Other units of clocks, in nanoseconds.
UNITS = {
    "seconds": ("seconds", 1_000_000_000),
    "milliseconds": ("milliseconds", 1_000_000),
    "microseconds": ("microseconds", 1_000),
}


class Clock(HostTest):
    """A clock that jumps, or counts another unit."""

    @each(UNITS)
    def test_a_clock_in_another_unit_is_refused_and_nothing_changes(self, counted):
        unit, nanos = counted
        for lines in [[], told([prompt("m1")])[0]]:
            host = Host(lines)
            host.answers["clock.now"] = lambda: START // nanos
            why = self.refused(["misuse"], host.open)
            self.assertTrue(why.message.endswith(f"answer nanoseconds since 1970-01-01T00:00:00Z; this looks like {unit}"), why.message)
            self.assertEqual(host.lines, lines)

    @each({"1970": 0, "the first instant": -(2**63), "the last instant": 2**63 - 1})
    def test_no_ledger_begins_far_from_now(self, answer):
        host = Host()
        host.answers["clock.now"] = lambda: answer
        self.refused(["misuse"], host.open)
        self.assertEqual(host.lines, [])

    def test_a_clock_that_begins_to_count_another_unit_is_refused_until_it_is_right(self):
        host = Host()
        agent = host.open()
        before = list(host.lines)
        host.answers["clock.now"] = lambda: START // 1_000_000 + 60_000
        self.refused(["misuse"], agent.call, "propose", prompt("m1"))
        self.refused(["misuse"], agent.call, "run-until-rest")
        self.assertEqual(host.lines, before)
        host.answers["clock.now"] = lambda: START
        agent.call("propose", prompt("m1"))
        self.is_whole(host.lines)

    @each(CLOCKS)
    def test_whatever_the_clock_says_entries_do_not_go_back_in_time(self, clock):
        # A ledger that exists: no ledger begins before 2000 or after 2200.
        host, readings = Host(told([])[0]), iter(range(1_000_000))
        host.answers["clock.now"] = lambda: clock(next(readings))
        agent = host.open()
        for fact in [
            prompt("m1"),
            '{"fact":"timer_created","timer_id":"t","duration_ms":60000}',
            '{"fact":"timer_created","timer_id":"u","duration_ms":18446744073709551615,"interval_ms":18446744073709551615}',
            '{"fact":"work_item_created","work_item_id":"w","objective":"see"}',
        ]:
            agent.call("propose", fact)
            agent.call("run-until-rest")
            agent.call("next-wake")
        # All are UTC, so without the `Z` they sort as text.
        instants = [json.loads(line)["at"].removesuffix("Z") for line in host.lines]
        self.assertGreater(len(instants), 8)
        self.assertEqual(instants, sorted(instants))
        self.is_whole(host.lines)


class Provider(HostTest):
    """A provider that fails in every way."""

    def boasting(self, lines):
        host = Host(lines)
        for name in host.answers:
            if name.startswith("provider."):
                host.answers[name] = lambda *_: "no\0\u202e" * 50_000
        host.answers["provider.alive"] = lambda task_ids: [*task_ids, *task_ids, *(f"unknown-{number}" for number in range(1000))]
        return host

    def test_a_provider_that_boasts_and_fails_leaves_a_ledger_that_is_whole(self):
        lines, _ = told([prompt("m1")])
        for _ in range(2):
            host = self.boasting(lines)
            agent = host.open()
            agent.call("propose", TASK)
            agent.call("run-until-rest")
            self.assertIn('"kind":"aborted"', "".join(host.lines))
            agent.call("propose", '{"fact":"stop_requested"}')
            agent.call("propose", '{"fact":"start_requested"}')
            agent.call("run-until-rest")
            self.assertNotIn("unknown-", agent.call("state"))
            lines = host.lines
        self.is_whole(lines)

    def test_a_provider_that_cannot_say_which_tasks_are_alive_leaves_the_agent_where_it_was(self):
        lines, _ = told([TASK])
        host = Host(lines)
        host.answers["provider.alive"] = lambda task_ids: "no answer"
        self.refused(["provider-failed"], host.open)
        self.assertEqual(host.lines, lines)
        self.is_whole(lines)


FACTS = {
    "null": "null",
    "a number": "7",
    "no JSON": "{",
    "an unknown fact": '{"fact":"nothing_happened"}',
    "a huge text": '{"fact":"' + "x" * 3_000_000 + '"}',
    "deep brackets": "[" * 100_000,
    "a nul": "\0",
}

WRONG_OPTIONS = {
    "null": "null",
    "no JSON": "{",
    "without agent": "{}",
    "an agent that is a number": '{"agent_id":7}',
    "an agent whose id is too long": json.dumps({"agent_id": "a" * 201}),
    "an unknown edition": '{"agent_id":"a","edition":"1999"}',
    "a policy of zeros": '{"agent_id":"a","policy":{"lane_burst":0}}',
}

# Values that wasmtime's package does not pass to the guest.
CALLS = {
    "a fact that is None": ("propose", None),
    "a fact that is an int": ("propose", 7),
    "a fact that is bytes": ("propose", b"{}"),
    "a fact with half a surrogate": ("propose", "\ud800"),
    "no fact": ("propose",),
    "two facts": ("propose", "{}", "{}"),
    "an entry that is a text": ("state-at", "1"),
    "a mode that is an int": ("open", OPTIONS, 0),
}


class Caller(HostTest):
    """A host that calls with something that is not a fact."""

    @each(FACTS)
    def test_a_fact_that_is_none_is_refused_and_nothing_is_written(self, fact):
        host = Host()
        agent = host.open()
        before = list(host.lines)
        self.refused(["malformed", "too-large"], agent.call, "propose", fact)
        self.assertEqual(host.lines, before)
        agent.call("propose", prompt("m1"))
        self.assertEqual(host.lines, told([prompt("m1")])[0])

    @each(WRONG_OPTIONS)
    def test_an_agent_is_not_opened_with_what_are_no_options(self, options):
        host = Host()
        agent = host.instance()
        self.refused(["malformed", "too-large"], agent.call, "open", options, "drive")
        self.assertEqual(host.lines, [])
        agent.call("open", OPTIONS, "drive")
        self.assertEqual(host.lines, told([])[0])

    @each(CALLS)
    def test_what_cannot_be_called_does_not_reach_the_guest(self, call):
        host = Host()
        agent = host.open()
        with self.assertRaises((TypeError, ValueError, WasmtimeError)):
            agent.call(*call)
        agent.call("propose", prompt("m1"))
        self.assertEqual(host.lines, told([prompt("m1")])[0])

    def test_an_unknown_mode_ends_the_instance(self):
        host = Host()
        agent = host.open()
        with self.assertRaisesRegex(WasmtimeError, "hover"):
            agent.call("open", OPTIONS, "hover")
        self.is_over(agent)
        self.is_whole(host.lines)

    def test_what_is_not_known_in_options_and_facts_is_refused(self):
        for options in ['{"agent_id":"a","polcy":{}}', '{"agent_id":""}']:
            host = Host()
            self.refused(["malformed"], host.instance().call, "open", options, "drive")
            self.assertEqual(host.lines, [])
        host = Host()
        agent = host.open()
        before = list(host.lines)
        for timer in ['"t","intervall_ms":1', '""']:
            fact = f'{{"fact":"timer_created","duration_ms":1,"timer_id":{timer}}}'
            self.refused(["malformed"], agent.call, "propose", fact)
        self.assertEqual(host.lines, before)

    def test_a_call_before_the_agent_is_open_is_refused(self):
        self.refused(["wrong-state"], Host().instance().call, "propose", prompt("m1"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python hostile.py COMPONENT [options of unittest]")
    Host.guest = Guest(sys.argv.pop(1))
    unittest.main()
