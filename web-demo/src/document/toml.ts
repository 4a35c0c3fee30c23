// Stories in TOML, as the JSON that the core reads. The parser is loaded when a person opens one.
import { parse, TomlDate, TomlError } from "smol-toml";

/** A story in TOML as the same story in JSON. */
export function storyOfToml(path: string, toml: string): string {
  try {
    // Integers beyond 2^53 keep their digits.
    return written(parse(toml, { integersAsBigInt: "asNeeded" }));
  } catch (error) {
    if (error instanceof TomlError) {
      const [what = error.message] = error.message.split("\n");
      throw new Error(`\`${path}\`, line ${error.line}, column ${error.column}: ${what}`, {
        cause: error,
      });
    }
    throw error;
  }
}

function written(value: unknown): string {
  if (value instanceof TomlDate) {
    return JSON.stringify(value.toISOString());
  }
  if (typeof value === "bigint") {
    return value.toString();
  }
  if (Array.isArray(value)) {
    return `[${value.map(written).join(",")}]`;
  }
  if (value !== null && typeof value === "object") {
    const fields = Object.entries(value).map(
      ([name, one]) => `${JSON.stringify(name)}:${written(one)}`,
    );
    return `{${fields.join(",")}}`;
  }
  return JSON.stringify(value);
}
