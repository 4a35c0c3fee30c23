// Tests of what an operator is offered to do. e2e/defects.test.mjs runs these commands.
import assert from "node:assert/strict";
import test from "node:test";
import type { ActKind, NoticeKind } from "@package/payloads.js";

import { adviceFor, commandFor, factsFor, insteadFor, labelOf, type Place } from "./acts.ts";

const FILE: Place = { in: "file", file: "two agents.sqlite", agent: "bob", turns: null };
const asked = (kind: ActKind, id: string | null = null, notice: NoticeKind | null = null) => ({
  act: { kind, id },
  notice,
});

test("each act has the command that does it to the agent of a file", () => {
  const at = "--ledger 'two agents.sqlite' --agent bob";
  for (const [what, command] of [
    [asked("answer", "w"), `wakeful send ${at} prompt 'what you want to say'`],
    [asked("speak", null, "agent_parked"), `wakeful send ${at} prompt 'what you want to say'`],
    [asked("start", null, "stopped"), `wakeful send ${at} start`],
    [asked("start", null, "overdue"), `wakeful run ${at}`],
    [asked("deliver", "ci"), `wakeful send ${at} deliver --trigger ci 'what you want to say'`],
    [
      asked("give_up", "build", "task_silent"),
      `wakeful send ${at} fact '{"fact":"task_interrupted","task_id":"build"}'`,
    ],
    [asked("grant", null, "budget_spent"), `wakeful send ${at} grant --tokens 10000`],
    [asked("grant", "w", "budget_spent"), `wakeful send ${at} grant --tokens 10000 --item w`],
  ] as const) {
    assert.equal(commandFor(what, FILE), command);
    assert.notEqual(adviceFor(what, FILE), "");
  }
});

test("the process that drives an agent is the one that drove it", () => {
  const overdue = asked("start", null, "overdue");
  for (const [turns, command, says] of [
    [null, /^wakeful run --ledger 'two agents.sqlite' --agent bob$/, /with its story/],
    ["model", /^wakeful serve --ledger 'two agents.sqlite'$/, /with its model/],
    ["elsewhere", /^wakeful serve --ledger 'two agents.sqlite'$/, /Your host/],
  ] as const) {
    assert.match(commandFor(overdue, { ...FILE, turns }) ?? "", command);
    assert.match(adviceFor(overdue, { ...FILE, turns }), says);
  }
  // Tasks of a host elsewhere outlive the server.
  const silent = asked("give_up", "build", "task_silent");
  assert.match(insteadFor(silent, FILE)?.command ?? "", /^wakeful run /);
  assert.equal(insteadFor(silent, { ...FILE, turns: "elsewhere" }), null);
  assert.equal(insteadFor(silent, { in: "nowhere" }), null);
  assert.equal(insteadFor(overdue, FILE), null);
});

test("a start of a process is not called the start of an agent", () => {
  assert.equal(labelOf(asked("start", null, "overdue")), "Start its process");
  assert.equal(labelOf(asked("start", null, "stopped")), "Start it");
  assert.equal(labelOf(asked("answer")), "Answer");
  assert.equal(labelOf(asked("newer" as ActKind)), "newer");
});

test("an agent of a server is acted on through it, and a copy has nobody to act on", () => {
  const server: Place = { in: "server", url: "http://127.0.0.1:7171", agent: "ada" };
  assert.equal(
    commandFor(asked("speak"), server),
    "wakeful send --server http://127.0.0.1:7171 --agent ada prompt 'what you want to say'",
  );
  assert.equal(commandFor(asked("start", null, "overdue"), server), null);
  assert.equal(commandFor(asked("speak"), { in: "nowhere" }), null);
});

test("a fork tries what a fact can do", () => {
  const names = (facts: string[] | null) =>
    facts?.map((text) => (JSON.parse(text) as { fact: string }).fact) ?? null;
  assert.deepEqual(names(factsFor(asked("answer", "w"), 1)), ["message_queued"]);
  assert.deepEqual(names(factsFor(asked("start", null, "stopped"), 1)), ["start_requested"]);
  assert.deepEqual(names(factsFor(asked("start", null, "overdue"), 1)), ["runtime_restarted"]);
  assert.deepEqual(names(factsFor(asked("grant", "w"), 1)), ["budget_granted"]);
  assert.equal(factsFor(asked("deliver", "ci"), 1), null);
});
