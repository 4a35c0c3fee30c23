"""The Python engine of the cross-check: the guest component in wasmtime's Python package.

    python engine.py COMPONENT

Lines of JSON, as `host-native/src/engine/remote.rs` says them: a call comes in, what the guest imports is asked for, its answer comes in, and so
on until the call has returned. All that is known here of the scheduler is the name of what it exports; the rest is read from the component.
"""

import json
import sys

AGENT = "wakeful:scheduler/agent@0.1.0"
FUEL = 1 << 60
STACK_BYTES = 1 << 20


def write(value):
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else None


def plain(value):
    """What the guest gave, as JSON."""
    if isinstance(value, Record):
        return {name: plain(field) for name, field in vars(value).items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


def cased(kind, case, payload):
    """A case of a result or variant; the package wants its name only where the payload does not tell it."""
    return Variant(case, payload) if kind._tagged() else payload


def imported(function, kind):
    """An import: it asks whoever called, and gives the answer."""

    def ask(_store, *args):
        write({"import": {"function": function, "args": [plain(arg) for arg in args]}})
        [(case, payload)] = read().items()
        if case == "value":
            return payload
        if case == "err" and isinstance(payload, dict):
            payload = cased(kind.result.err, *next(iter(payload.items())))
        return cased(kind.result, case, payload)

    return ask


class Guest:
    """The compiled component, and its newest instance."""

    def __init__(self, path):
        config = Config()
        config.consume_fuel = True
        config.max_wasm_stack = STACK_BYTES
        self.engine = Engine(config)
        self.component = Component.from_file(self.engine, path)
        self.linker = Linker(self.engine)
        with self.linker.root() as root:
            for interface, item in self.component.type.imports(self.engine).items():
                name = interface.split("/")[-1].split("@")[0]
                with root.add_instance(interface) as instance:
                    for function, kind in item.exports(self.engine).items():
                        if isinstance(kind, FuncType):
                            instance.add_func(function, imported(f"{name}.{function}", kind))
        self.agent = self.component.get_export_index(AGENT)
        if self.agent is None:
            raise ValueError(f"{path} does not export {AGENT}")
        self.functions = {}

    def instantiate(self):
        self.store = Store(self.engine)
        self.store.set_fuel(FUEL)
        self.instance = self.linker.instantiate(self.store, self.component)
        self.functions = {}

    def call(self, function, args):
        """What a call gave, as the line that says it."""
        if function not in self.functions:
            index = self.component.get_export_index(function, self.agent)
            self.functions[function] = self.instance.get_func(self.store, index)
        before = self.store.get_fuel()
        value = self.functions[function](self.store, *args)
        fuel = before - self.store.get_fuel()
        if isinstance(value, Record):
            return {"refused": {"error": {**plain(value), "code": value.code.replace("-", "_")}, "fuel": fuel}}
        return {"returned": {"value": plain(value), "fuel": fuel}}


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
                guest.instantiate()
                write({"returned": {"value": None, "fuel": 0}})
            else:
                write(guest.call(line["call"], line["args"]))
        except Exception as why:
            write({"broke": str(why)})
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python engine.py COMPONENT")
    try:
        from wasmtime import Config, Engine, Store
        from wasmtime.component import Component, FuncType, Linker, Record, Variant
    except ImportError as why:
        write({"cannot_run": f"the package wasmtime is missing ({why}): run `pip install -r wasm/python/requirements.txt`"})
        sys.exit(1)
    sys.exit(serve(sys.argv[1]))
