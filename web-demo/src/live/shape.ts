// The shape of a form, read from the JSON Schema of the payloads, and the JSON text of its content,
// with numbers as typed.

/** The part of JSON Schema that the payloads use. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  description?: string;
  type?: string | string[];
  format?: string;
  const?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  items?: Schema;
}

/** The shape of one control. */
export type Shape =
  | { is: "text"; hint: string }
  | { is: "number" }
  | { is: "json" }
  | { is: "flag" }
  | { is: "choice"; names: Named[] }
  | { is: "list"; of: Shape }
  | { is: "fields"; fields: Field[] }
  | { is: "union"; tag: string; variants: (Named & { fields: Field[] })[] };

/** A name with its documentation. */
export interface Named {
  name: string;
  says: string;
}

/** A field of an object. */
export type Field = Named & { required: boolean; shape: Shape };

/** The content of a form: a text, a list, or fields by name. The tag of a union is a field. */
export type Draft = string | Draft[] | { [name: string]: Draft };

/** The shape of a definition of this schema. */
export function shapeOf(root: Schema, definition: string): Shape {
  return shape(root, { $ref: `#/$defs/${definition}` });
}

/** A schema with its reference resolved; the keys beside the reference count too. */
function resolved(root: Schema, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const { $ref, ...beside } = schema;
  const name = $ref.split("/").at(-1) ?? "";
  const target = root.$defs?.[name];
  if (target === undefined) throw new Error(`the schema has no definition \`${name}\``);
  const { properties, required, ...rest } = resolved(root, target);
  return {
    ...rest,
    ...beside,
    properties: { ...beside.properties, ...properties },
    required: [...(beside.required ?? []), ...(required ?? [])],
  };
}

/** A schema without the null of an absent value. */
function present(root: Schema, schema: Schema): Schema {
  const others = schema.anyOf?.filter((other) => other.type !== "null");
  const { anyOf: _, ...beside } = schema;
  return others?.length === 1
    ? resolved(root, { ...others[0], ...beside })
    : resolved(root, schema);
}

function shape(root: Schema, given: Schema): Shape {
  const schema = present(root, given);
  if (schema.oneOf !== undefined) {
    return alternatives(root, schema.oneOf);
  }
  const type = Array.isArray(schema.type)
    ? schema.type.find((name) => name !== "null")
    : schema.type;
  switch (type) {
    case "string":
      return { is: "text", hint: schema.format === "date-time" ? "2026-05-27T09:00:00Z" : "" };
    case "integer":
    case "number":
      return { is: "number" };
    case "boolean":
      return { is: "flag" };
    case "array":
      return { is: "list", of: shape(root, schema.items ?? {}) };
    case "object":
      return { is: "fields", fields: fields(root, schema, null) };
    default:
      return { is: "json" };
  }
}

function alternatives(root: Schema, all: Schema[]): Shape {
  const variants = all.map((one) => resolved(root, one));
  if (variants.every((one) => one.const !== undefined)) {
    return {
      is: "choice",
      names: variants.map((one) => ({ name: one.const ?? "", says: one.description ?? "" })),
    };
  }
  const tag = Object.entries(variants[0]?.properties ?? {}).find(
    ([, property]) => property.const !== undefined,
  )?.[0];
  if (tag === undefined) return { is: "json" };
  const variant = (one: Schema) => ({
    name: one.properties?.[tag]?.const ?? "",
    says: one.description ?? "",
    fields: fields(root, one, tag),
  });
  return { is: "union", tag, variants: variants.map(variant) };
}

function fields(root: Schema, schema: Schema, tag: string | null): Field[] {
  const named = Object.entries(schema.properties ?? {}).filter(([name]) => name !== tag);
  const all = named.map(([name, property]) => ({
    name,
    says: property.description ?? "",
    required: schema.required?.includes(name) ?? false,
    shape: shape(root, property),
  }));
  return [...all.filter((field) => field.required), ...all.filter((field) => !field.required)];
}

/** The initial content of a field. */
export function blank(of: Shape): Draft {
  switch (of.is) {
    case "list":
      return [];
    case "fields":
    case "union":
      return {};
    default:
      return "";
  }
}

/** The content, if it has fields. */
export const fieldsOf = (draft: Draft | undefined): { [name: string]: Draft } =>
  typeof draft === "object" && !Array.isArray(draft) ? draft : {};

/**
 * The JSON text of the content; undefined if it is empty. A text in a number field is sent as text,
 * so that the core reports it.
 */
export function textOf(of: Shape, draft: Draft | undefined): string | undefined {
  switch (of.is) {
    case "text":
    case "choice":
      return typeof draft === "string" && draft !== "" ? JSON.stringify(draft) : undefined;
    case "number":
      if (typeof draft !== "string" || draft.trim() === "") return undefined;
      return NUMBER.test(draft.trim()) ? draft.trim() : JSON.stringify(draft);
    case "json":
    case "flag":
      return typeof draft === "string" && draft.trim() !== "" ? draft.trim() : undefined;
    case "list": {
      const members = Array.isArray(draft)
        ? draft.map((member) => textOf(of.of, member) ?? '""')
        : [];
      return members.length === 0 ? undefined : `[${members.join(",")}]`;
    }
    case "fields":
      return objectOf(of.fields, fieldsOf(draft), []);
    case "union": {
      const filled = fieldsOf(draft);
      const name = filled[of.tag];
      if (typeof name !== "string" || name === "") return undefined;
      const variant = of.variants.find((known) => known.name === name);
      return objectOf(variant?.fields ?? [], filled, [
        `${JSON.stringify(of.tag)}:${JSON.stringify(name)}`,
      ]);
    }
  }
}

const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;

function objectOf(
  all: Field[],
  filled: { [name: string]: Draft },
  first: string[],
): string | undefined {
  const members = all.flatMap(({ name, shape: of }) => {
    const text = textOf(of, filled[name]);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return first.length + members.length === 0 ? undefined : `{${[...first, ...members].join(",")}}`;
}
