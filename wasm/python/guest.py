"""The guest component in wasmtime's package.

All that is known here of the scheduler is the name of what it exports; the rest is read from the component.

An import can kill the process: the package (48.0.0) has a callback in Python that must not raise, and believes `isinstance`. `guarded` wraps
it. Anything but an `Exception` (Ctrl-C, `sys.exit`), and a `WasmtimeError` that was raised before, would make the callback answer with
memory that nobody wrote; a list that is longer than its `len` is written past its end; a text whose `encode` gives no UTF-8 aborts. It cannot
hold off Ctrl-C in the package's own lines around an import (take SIGINT in a handler of your own), nor a store that is closed in a call.
"""

from wasmtime import Config, Engine, Store
from wasmtime.component import Component, FuncType, Linker, Record, Variant

AGENT = "wakeful:scheduler/agent@0.2.0"
STACK_BYTES = 1 << 20


class Refused(Exception):
    """An error of the world: the record `error`. The guest refuses a call with it and stays usable."""

    def __init__(self, error):
        super().__init__(f"{error.code}: {error.message}")
        self.error = error


class Raised(Exception):
    """Carries an exception of an import, its cause, through the guest."""


def exact(value):
    """A value that the package can carry, without objects that only claim to be one."""
    if type(value) is list:
        return [exact(one) for one in value]
    if type(value) is Variant:
        return Variant(exact(value.tag), exact(value.payload))
    if value is None or type(value) in (int, str):
        return value
    raise TypeError(f"an import gives None, an int, a str, a list or a Variant, not {type(value).__name__}")


def guarded(function):
    """An import that is safe for the package, whatever its function does."""

    def answer(_store, *args):
        try:
            return exact(function(*args))
        except BaseException as why:
            raise Raised from why

    return answer


class Guest:
    """The compiled component."""

    def __init__(self, path):
        config = Config()
        config.consume_fuel = True
        config.max_wasm_stack = STACK_BYTES
        self.engine = Engine(config)
        self.component = Component.from_file(self.engine, path)
        self.agent = self.component.get_export_index(AGENT)
        if self.agent is None:
            raise ValueError(f"{path} does not export {AGENT}")
        self.imports = {
            interface: {name: kind for name, kind in item.exports(self.engine).items() if isinstance(kind, FuncType)}
            for interface, item in self.component.type.imports(self.engine).items()
        }

    def instantiate(self, lend, fuel, memory_bytes=-1):
        """A fresh instance. `lend` maps the name of each import (`ledger.append`) and its type to a function."""
        linker = Linker(self.engine)
        with linker.root() as root:
            for interface, functions in self.imports.items():
                with root.add_instance(interface) as instance:
                    for function, kind in functions.items():
                        name = interface.split("/")[-1].split("@")[0]
                        instance.add_func(function, guarded(lend(f"{name}.{function}", kind)))
        store = Store(self.engine)
        store.set_limits(memory_size=memory_bytes)
        store.set_fuel(fuel)
        return Instance(self, store, linker.instantiate(store, self.component))


class Instance:
    """One instance: one agent."""

    def __init__(self, guest, store, instance):
        self.guest = guest
        self.store = store
        self.instance = instance
        self.functions = {}

    def call(self, function, *args):
        """Calls an export. Raises `Refused`, the exception of an import, or wasmtime's error; the last two end the instance."""
        if function not in self.functions:
            index = self.guest.component.get_export_index(function, self.guest.agent)
            self.functions[function] = self.instance.get_func(self.store, index)
        try:
            value = self.functions[function](self.store, *args)
        except Raised as why:
            raise why.__cause__ from None
        if isinstance(value, Record):
            raise Refused(value)
        return value
