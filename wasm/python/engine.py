"""The Python engine of the cross-check: the guest component in wasmtime's Python package.

    python engine.py COMPONENT

Lines of JSON, as `cli/src/engine/remote.rs` says them: a call comes in, what the guest imports is asked for, its answer comes in, and so
on until the call has returned.
"""

import json
import sys

FUEL = 1 << 60


def write(value):
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else None


def plain(value):
    """The answer of the guest, as JSON."""
    if isinstance(value, Record):
        return {name: plain(field) for name, field in vars(value).items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


def cased(kind, case, payload):
    """A case of a result or variant. The package needs its name only if the payload does not tell."""
    return Variant(case, payload) if kind._tagged() else payload


def imported(function, kind):
    """An import: it passes the call to the host program, and returns the answer."""

    def ask(*args):
        write({"import": {"function": function, "args": [plain(arg) for arg in args]}})
        [(case, payload)] = read().items()
        if case == "value":
            return payload
        if case == "err" and isinstance(payload, dict):
            payload = cased(kind.result.err, *next(iter(payload.items())))
        return cased(kind.result, case, payload)

    return ask


def answered(agent, function, args):
    """The outcome of a call, as a line."""
    before = agent.store.get_fuel()
    try:
        what, said = "returned", {"value": plain(agent.call(function, *args))}
    except Refused as why:
        what, said = "refused", {"error": {**plain(why.error), "code": why.error.code.replace("-", "_")}}
    return {what: {**said, "fuel": before - agent.store.get_fuel()}}


def serve(path):
    try:
        guest = Guest(path)
    except Exception as why:
        write({"cannot_run": f"the guest cannot be loaded: {why}"})
        return 1
    write({"ready": "python " + sys.version.split()[0]})
    while (line := read()) is not None:
        try:
            if line["call"] == "new":
                agent = guest.instantiate(imported, FUEL)
                write({"returned": {"value": None, "fuel": 0}})
            else:
                write(answered(agent, line["call"], line["args"]))
        except Exception as why:
            write({"broke": str(why)})
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python engine.py COMPONENT")
    try:
        from wasmtime.component import Record, Variant

        from guest import Guest, Refused
    except ImportError as why:
        write({"cannot_run": f"the package wasmtime is missing ({why}): run `pip install -r wasm/python/requirements.txt`"})
        sys.exit(1)
    sys.exit(serve(sys.argv[1]))
