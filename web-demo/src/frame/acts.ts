// What an operator can do about an agent: the command for it, and the facts that try it in a fork.
// The core says which act is next; nothing is decided here.
import type { Act, ActKind, NoticeKind } from "@package/payloads.js";

import type { Turns } from "../document/sqlite.ts";
import { quoted } from "../parts/shell.ts";

/** The place in which the agent of a document lives. */
export type Place =
  | { in: "file"; file: string; agent: string; turns: Turns | null }
  | { in: "server"; url: string; agent: string }
  /** Copies, examples and forks: there is no agent to act on. */
  | { in: "nowhere" };

const LABELS: Record<ActKind, string> = {
  answer: "Answer",
  speak: "Speak to it",
  start: "Start it",
  deliver: "Deliver",
  grant: "Grant more",
  give_up: "Say it is lost",
  look: "Look at it",
};

/** An act, and the notice that asks for it, if one does. */
export interface Asked {
  act: Act;
  notice: NoticeKind | null;
}

/**
 * Whether a process has to be started. No message does that, because nobody would take it.
 */
function needsProcess({ act, notice }: Asked): boolean {
  return act.kind === "start" && notice !== "stopped" && notice !== null;
}

/** An act, as the label of what does it. An act that is newer than this page has its own name. */
export function labelOf(asked: Asked): string {
  return needsProcess(asked)
    ? "Start its process"
    : (LABELS[asked.act.kind] ?? String(asked.act.kind));
}

/** The text of a button that opens a dialog about the act; to look at an entry needs none. */
export function opensWith(asked: Asked): string {
  return asked.act.kind === "look" ? labelOf(asked) : `${labelOf(asked)}…`;
}

/** Whether an act needs words of the operator. */
export function needsWords({ act }: Asked): boolean {
  return act.kind === "answer" || act.kind === "speak" || act.kind === "deliver";
}

/** What stands for the words until there are some. */
export const NO_WORDS = "what you want to say";

/** The command that does it; null if there is nothing to do it to. */
export function commandFor(asked: Asked, place: Place, words = NO_WORDS): string | null {
  if (place.in === "nowhere") {
    return null;
  }
  const at =
    place.in === "file"
      ? `--ledger ${quoted(place.file)} --agent ${quoted(place.agent)}`
      : `--server ${quoted(place.url)} --agent ${quoted(place.agent)}`;
  const { kind, id } = asked.act;
  switch (kind) {
    case "answer":
    case "speak":
      return `wakeful send ${at} prompt ${quoted(words)}`;
    case "start":
      if (!needsProcess(asked)) {
        return `wakeful send ${at} start`;
      }
      return place.in === "file" ? processOf(place) : null;
    case "deliver":
      return `wakeful send ${at} deliver --trigger ${quoted(id ?? "TRIGGER")} ${quoted(words)}`;
    case "grant":
      return `wakeful send ${at} grant --tokens 10000${id == null ? "" : ` --item ${quoted(id)}`}`;
    case "give_up":
      return `wakeful send ${at} fact ${quoted(lost(id ?? "TASK"))}`;
    default:
      return null;
  }
}

/** The command that drives an agent; its own message says which options it still needs. */
function processOf(place: Place & { in: "file" }): string {
  return place.turns === null
    ? `wakeful run --ledger ${quoted(place.file)} --agent ${quoted(place.agent)}`
    : `wakeful serve --ledger ${quoted(place.file)}`;
}

/** The fact that a task was lost. */
function lost(task: string): string {
  return fact("task_interrupted", { task_id: task });
}

/** The facts that do it in a fork; null if a fork cannot show it. */
export function factsFor({ act, notice }: Asked, now: number, words = NO_WORDS): string[] | null {
  switch (act.kind) {
    case "answer":
    case "speak":
      return [
        fact("message_queued", {
          message: {
            id: `try-${now}`,
            kind: "operator_prompt",
            origin: { kind: "operator" },
            trust: "trusted_operator",
            body: { type: "text", text: words },
            ...(act.kind === "answer" && act.id != null && { work_item_id: act.id }),
          },
        }),
      ];
    case "start":
      return [
        fact(notice === "stopped" || notice === null ? "start_requested" : "runtime_restarted", {}),
      ];
    case "grant":
      return [
        fact("budget_granted", {
          grant_id: `try-${now}`,
          tokens: 10_000,
          ...(act.id != null && { work_item_id: act.id }),
        }),
      ];
    case "give_up":
      return act.id == null ? null : [lost(act.id)];
    default:
      return null;
  }
}

/** What to do instead of an act if the process of the agent has ended; null if nothing. */
export function insteadFor({ act }: Asked, place: Place): { says: string; command: string } | null {
  if (act.kind !== "give_up" || place.in !== "file" || place.turns === "elsewhere") {
    return null;
  }
  const adds = ADDS[place.turns ?? "run"];
  return {
    says: `If the process that drives the agent has ended too, start that one again instead, ${adds}. It interrupts the task, and tells the agent:`,
    command: processOf(place),
  };
}

/** What to know before it is done. */
export function adviceFor(asked: Asked, place: Place): string {
  const turns = place.in === "file" ? place.turns : null;
  switch (asked.act.kind) {
    case "answer":
      return "The agent asks for your answer, and rests until it has one.";
    case "speak":
      return "A parked agent goes on when a person speaks to it.";
    case "start":
      return needsProcess(asked)
        ? `If this is not an older copy, no process drives the agent. ${STARTS[turns ?? "run"]}`
        : "The agent was stopped, and goes on when it is started.";
    case "deliver":
      return "The agent waits for this. If it has happened and nobody told it, deliver it.";
    case "grant":
      return "The agent rests until the budget begins anew, or is raised.";
    case "give_up":
      return "Look where it runs. If it still runs, wait. If it has ended, say that it was lost. The agent then goes on without its result.";
    default:
      return "";
  }
}

/** The options that such a process needs. */
const ADDS = {
  run: "with its story (--story FILE) or its model (--provider openai --model NAME)",
  model: "with its model (--provider openai --model NAME)",
};

/** How a process is started that drives an agent. */
const STARTS: Record<Turns | "run", string> = {
  run: `Start the one that drove it before, ${ADDS.run}. It interrupts the tasks that the agent had.`,
  model: `Start the server of its file, ${ADDS.model}. It takes over each agent there that nobody drives, and interrupts their tasks.`,
  elsewhere: "Start the server of its file. Your host that runs its turns goes on with them.",
};

function fact(name: string, fields: Record<string, unknown>): string {
  return JSON.stringify({ fact: name, ...fields });
}
