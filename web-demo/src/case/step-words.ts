// One line about a step: what the host did, and what came of it.
import type { Effect } from "@package/payloads.js";

import type { Outcome, Step } from "./trace.ts";

/** What the host did in a step, in a few words. */
export function commandWords({ command }: Step): string {
  switch (command.do) {
    case "open":
      return "open as driver";
    case "replay":
      return "replay";
    case "propose":
      return `propose ${command.fact.fact ?? "a fact"}`;
    case "run":
      return "run until rest";
    case "set_clock":
      return `set the clock to ${command.to.replace("T", " ").replace("Z", "")}`;
  }
}

/** What came of a step, in a few words; errors are told apart by `failed`. */
export function outcomeWords(outcome: Outcome): { words: string; failed: boolean } {
  if (outcome === null) {
    return { words: "done", failed: false };
  }
  if (Array.isArray(outcome)) {
    const said = outcome.map((report) => [report.decision?.decision ?? "arrival", ...effectWords(report.effects)].join(", "));
    return { words: said.length === 0 ? "already at rest" : said.join(" → "), failed: false };
  }
  if ("error" in outcome) {
    return { words: `${outcome.error.code}: ${outcome.error.message}`, failed: true };
  }
  if ("found" in outcome) {
    if (outcome.expected === undefined) {
      return { words: "read; the folder expects nothing", failed: false };
    }
    const missed = unexpected(outcome.expected, outcome.found);
    return missed.length === 0
      ? { words: "found what expected.json says", failed: false }
      : { words: `expected.json says otherwise: ${missed.join(", ")}`, failed: true };
  }
  const why = outcome.reason === undefined ? "" : ` (${outcome.reason})`;
  return { words: [`${outcome.answer}${why}`, ...effectWords(outcome.effects)].join(", "), failed: false };
}

/** The fields of `expected.json` that were found otherwise. */
export function unexpected(expected: object, found: object): string[] {
  const other = new Map(Object.entries(found));
  return Object.entries(expected).flatMap(([name, value]) => (JSON.stringify(other.get(name)) === JSON.stringify(value) ? [] : [name]));
}

function effectWords(effects: Effect[]): string[] {
  return effects.map((effect) => ("run_id" in effect ? `${effect.effect} ${effect.run_id}` : effect.effect));
}
