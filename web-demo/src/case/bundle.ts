// The bundle: the cases that the workbench offers, each with the native core's trace.
import type { Trace } from "./trace.ts";

/** A case with its source. */
export type Case = { case: string; shows: string; trace?: Trace | null } & (
  { kind: "fixture"; files: Record<string, string> } | { kind: "story"; story: string }
);

/** The part of a case that the list shows. */
export interface CaseLine {
  case: string;
  kind: "fixture" | "story";
  shows: string;
}

/** Reads a bundle from text. Throws what is wrong if it is not one. */
export function readBundle(text: string): Case[] {
  const bundle = parsed(text);
  if (
    typeof bundle !== "object" ||
    bundle === null ||
    !("cases" in bundle) ||
    !Array.isArray(bundle.cases)
  ) {
    throw new Error("bundle.json has no `cases`: write it again with `cargo xtask serve`");
  }
  for (const [index, entry] of bundle.cases.entries()) {
    const { case: name, kind, files, story } = Object(entry) as Record<string, unknown>;
    const whole =
      kind === "fixture"
        ? typeof files === "object" && files !== null
        : kind === "story" && typeof story === "string";
    if (typeof name !== "string" || !whole) {
      throw new Error(
        `bundle.json: case ${index + 1} is not a fixture with \`files\` or a story with \`story\``,
      );
    }
  }
  return bundle.cases as Case[];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Some servers answer with a page instead of saying that the file is missing.
    throw new Error("bundle.json is not JSON: write it again with `cargo xtask serve`");
  }
}
