// Tests of the registry of commands: which key runs which command, and where.
import assert from "node:assert/strict";
import test from "node:test";

import {
  available,
  commandFor,
  grouped,
  keyName,
  register,
  suggested,
  type Command,
} from "./commands.ts";

const command = (id: string, more: Partial<Command> = {}): Command => ({
  id,
  name: id,
  group: "Cursor",
  run: () => {},
  ...more,
});

/** A key with these modifiers. */
const pressed = (key: string, held: string[] = [], repeat = false) =>
  ({
    key,
    code: "",
    repeat,
    getModifierState: (name: string) => held.includes(name),
  }) as unknown as KeyboardEvent;

const COMMANDS = [
  command("next", { keys: ["ArrowRight"], repeats: true }),
  command("next change", { keys: ["Shift+ArrowRight"] }),
  command("play", { keys: [" "] }),
  command("mark", { keys: ["m"] }),
  command("zoom in", { keys: ["[Shift]++"] }),
  command("help", { keys: ["[Shift]+?"] }),
  command("palette", { keys: ["Control+k"], inFields: true }),
];

test("a key runs its command, and its modifiers count", () => {
  for (const [key, held, id] of [
    ["ArrowRight", [], "next"],
    ["ArrowRight", ["Shift"], "next change"],
    ["ArrowRight", ["Control"], undefined],
    ["ArrowRight", ["Alt"], undefined],
    [" ", [], "play"],
    ["m", [], "mark"],
    ["+", [], "zoom in"],
    ["+", ["Shift"], "zoom in"],
    ["?", ["Shift"], "help"],
    ["k", ["Control"], "palette"],
    ["k", [], undefined],
  ] as const) {
    assert.equal(
      commandFor(pressed(key, [...held]), COMMANDS, "nothing")?.id,
      id,
      `${held} ${key}`,
    );
  }
});

test("a focused element keeps the keys that it needs", () => {
  const id = (key: string, taken: Parameters<typeof commandFor>[2], held: string[] = []) =>
    commandFor(pressed(key, held), COMMANDS, taken)?.id;
  assert.equal(id("m", "letters"), undefined, "a field takes letters");
  assert.equal(id("k", "letters", ["Control"]), "palette", "but not this key");
  assert.equal(id("k", "everything", ["Control"]), undefined, "a dialog takes all keys");
  assert.equal(id("ArrowRight", "moves"), undefined, "a tree moves by itself");
  assert.equal(id("m", "moves"), "mark", "and takes no letters");
  assert.equal(id(" ", "presses"), undefined, "Space presses a button");
  assert.equal(id("ArrowRight", "presses"), "next", "an arrow does not");
});

test("a held key repeats only what may be repeated", () => {
  assert.equal(commandFor(pressed("ArrowRight", [], true), COMMANDS, "nothing")?.id, "next");
  assert.equal(commandFor(pressed("m", [], true), COMMANDS, "nothing"), undefined);
});

test("what is registered is there until it is removed, and what is unavailable is not offered", () => {
  const own = {
    commands: [command("a"), command("b", { isAvailable: false })],
    suggest: (typed: string) => (typed === "7" ? [command("entry 7")] : []),
  };
  const remove = register(own);
  assert.deepEqual(
    available().map(({ id }) => id),
    ["a"],
  );
  own.commands = [command("c")];
  assert.deepEqual(
    available().map(({ id }) => id),
    ["c"],
  );
  assert.deepEqual(
    suggested("7").map(({ id }) => id),
    ["entry 7"],
  );
  remove();
  assert.deepEqual([...available(), ...suggested("7")], []);
});

test("groups that most people need come first, and others follow in their order", () => {
  const groups = grouped([
    command("x", { group: "Examples" }),
    command("p", { group: "Page" }),
    command("y", { group: "Agents" }),
    command("c", { group: "Cursor" }),
    command("z", { group: "Examples" }),
  ]);
  assert.deepEqual(
    groups.map(([group, { length }]) => [group, length]),
    [
      ["Cursor", 1],
      ["Page", 1],
      ["Examples", 2],
      ["Agents", 1],
    ],
  );
});

test("keys are written as people read them", () => {
  for (const [key, name] of [
    ["Shift+ArrowLeft", "Shift ←"],
    ["[Shift]+?", "?"],
    ["[Shift]++", "+"],
    ["-", "−"],
    ["m", "M"],
    ["$mod+k", "Ctrl K"],
    [" ", "Space"],
  ] as const) {
    assert.equal(keyName(key), name);
  }
});
