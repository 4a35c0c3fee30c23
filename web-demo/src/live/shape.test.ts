// Tests of forms made from the published schema of the payloads.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { shapeOf, textOf, type Draft, type Field, type Schema, type Shape } from "./shape.ts";

const schema = JSON.parse(
  await readFile(new URL("../../../docs/wakeful.schema.json", import.meta.url), "utf8"),
) as Schema;
const facts = shapeOf(schema, "Fact");

function variant(name: string): Field[] {
  assert.equal(facts.is, "union");
  const found =
    facts.is === "union" ? facts.variants.find((known) => known.name === name) : undefined;
  return found?.fields ?? assert.fail(`no fact ${name}`);
}

function field(fields: Field[], name: string): Field {
  return fields.find((known) => known.name === name) ?? assert.fail(`no field ${name}`);
}

const write = (draft: Draft) => textOf(facts, draft);

test("every fact of the schema has a form, and no part of it is left to free JSON that has a type", () => {
  assert.equal(facts.is, "union");
  const all = facts.is === "union" ? facts.variants : [];
  assert.equal(all.length, schema.$defs?.["Fact"]?.oneOf?.length);
  assert.ok(all.every(({ name, says }) => name !== "" && says !== ""));
  const free: string[] = [];
  const look = (at: string, shape: Shape): void => {
    if (shape.is === "json") free.push(at);
    if (shape.is === "list") look(`${at}[]`, shape.of);
    if (shape.is === "fields")
      shape.fields.forEach(({ name, shape: of }) => look(`${at}.${name}`, of));
    if (shape.is === "union")
      shape.variants.forEach((one) =>
        one.fields.forEach(({ name, shape: of }) => look(`${at}.${one.name}.${name}`, of)),
      );
  };
  look("", facts);
  const carried = [
    "attachments",
    "checkpoint",
    "continuation",
    "data",
    "detail",
    "diagnostics",
    "input",
    "metadata",
    "output",
    "plan",
    "todo_list",
    "value",
  ];
  assert.deepEqual(
    [...new Set(free.map((at) => at.split(".").at(-1)))].sort(),
    carried,
    "these are carried as given",
  );
});

test("required fields come first, enums are choices, tagged objects are unions, null means absent", () => {
  const message = field(variant("message_queued"), "message").shape;
  const fields = message.is === "fields" ? message.fields : [];
  assert.deepEqual(
    fields.slice(0, 5).map(({ name, required }) => [name, required]),
    ["id", "kind", "origin", "trust", "body"].map((name) => [name, true]),
  );
  assert.ok(fields.slice(5).every(({ required }) => !required));
  const kinds = field(fields, "kind").shape;
  assert.ok(kinds.is === "choice" && kinds.names.some(({ name }) => name === "operator_prompt"));
  const origin = field(fields, "origin").shape;
  assert.ok(origin.is === "union" && origin.tag === "kind");
  assert.equal(field(fields, "work_item_id").shape.is, "text");
  assert.equal(field(variant("timer_created"), "interval_ms").shape.is, "number");
  const sources = field(variant("wait_condition_registered"), "wake_sources").shape;
  assert.ok(sources.is === "list" && sources.of.is === "union");
  assert.deepEqual(variant("stop_requested"), []);
});

test("filled fields become JSON, number for number, and empty fields are left out", () => {
  assert.equal(write({ fact: "stop_requested" }), '{"fact":"stop_requested"}');
  assert.equal(
    write({
      fact: "timer_created",
      timer_id: "t",
      duration_ms: " 60000 ",
      interval_ms: "",
      summary: "",
    }),
    '{"fact":"timer_created","timer_id":"t","duration_ms":60000}',
  );
  assert.equal(
    write({ fact: "timer_created", timer_id: "t", duration_ms: "9223372036854775808" }),
    '{"fact":"timer_created","timer_id":"t","duration_ms":9223372036854775808}',
  );
  assert.equal(
    write({ fact: "timer_created", duration_ms: "soon" }),
    '{"fact":"timer_created","duration_ms":"soon"}',
    "the core reports that this is not a number",
  );
  assert.equal(
    write({ fact: "transcript_appended", data: ' {"n": 1.0} ' }),
    '{"fact":"transcript_appended","data":{"n": 1.0}}',
  );
  const origin = { kind: "webhook", source: 'a "b"' };
  assert.equal(
    write({ fact: "message_queued", message: { id: "m", origin } }),
    '{"fact":"message_queued","message":{"id":"m","origin":{"kind":"webhook","source":"a \\"b\\""}}}',
  );
  const wake_sources = [{ kind: "operator_input" }, { kind: "timer", wake_at: "x" }];
  assert.equal(
    write({ fact: "wait_condition_registered", wake_sources }),
    '{"fact":"wait_condition_registered","wake_sources":[{"kind":"operator_input"},{"kind":"timer","wake_at":"x"}]}',
  );
  assert.equal(write({}), undefined);
});

test("a schema with a missing definition is refused", () => {
  assert.throws(() => shapeOf({ $defs: {} }, "Fact"), /the schema has no definition `Fact`/);
});
