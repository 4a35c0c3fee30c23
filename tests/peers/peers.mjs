// Measures what a decision costs in Node: by an agent at rest, by an equivalent state machine in
// XState, and by Cedar's stateful authorizer.
//
//   node peers.mjs GUEST_FOLDER TURNS
//
// It prints {"decision":20000,"xstate":..,"cedar":..}: nanoseconds, the minimum of all turns.

import { createRequire } from "node:module";

import { initialTransition, setup, transition } from "xstate";

import { MemoryLedger } from "../../npm/src/ledger/memory.mjs";
import { loadGuest } from "../../wasm/web/js/engine.mjs";

// Its module for `import` imports files without their extension, which Node cannot resolve.
const cedar = createRequire(import.meta.url)("@cedar-policy/cedar-wasm/nodejs");

/** Decisions per measurement. */
const TIMES = 2_000;

/**
 * An agent at rest over a ledger in memory. It answers as text, and appends nothing because nothing
 * has changed.
 */
function agent(guest) {
  let now = 1_780_000_000_000_000_000n;
  const clock = { now: () => (now += 1_000_000n) };
  const provider = { startTurn() {}, interject() {}, yieldTurn() {}, abortTurn() {}, release() {} };
  const scheduler = guest.Scheduler.drive(
    { agent_id: "peer" },
    { ledger: new MemoryLedger(), clock, provider },
  );
  scheduler.runUntilRestText();
  return () => scheduler.stepText("run_loop_idle");
}

/**
 * The ladder as a state machine. From `looking` it goes to the first state whose guard holds, and
 * the event `look` sends it back.
 */
function machine() {
  const places = [
    ["stopped", (it) => it.isStopped],
    ["paused", (it) => it.isPaused],
    ["turn", (it) => it.run !== null],
    ["ending", (it) => it.terminal !== null],
    ["modelTurn", (it) => it.messages.some((message) => message.wakes)],
    ["reduce", (it) => it.messages.length > 0],
    ["closing", (it) => it.closures.length > 0],
    ["hint", (it) => it.hints.length > 0],
    ["continuation", (it) => it.items.some((item) => item.continues)],
    ["work", (it) => it.items.some((item) => item.isRunnable)],
    ["recheck", (it) => it.rechecks.some((recheck) => recheck.isDue)],
    ["task", (it) => it.tasks.some((task) => task.blocks)],
    ["operator", (it) => it.waits.some((wait) => wait.for === "operator")],
    ["external", (it) => it.waits.some((wait) => wait.for === "external")],
    ["timer", (it) => it.timers.length > 0],
    ["asleep", (it) => it.posture === "asleep"],
  ];
  const guards = Object.fromEntries(
    places.map(([place, holds]) => [place, ({ context }) => holds(context)]),
  );
  const looks = [...places.map(([place]) => ({ target: place, guard: place })), { target: "idle" }];
  const look = { on: { look: "looking" } };
  const states = Object.fromEntries(
    [...places.map(([place]) => place), "idle"].map((place) => [place, look]),
  );
  return setup({ guards }).createMachine({
    initial: "looking",
    context: {
      isStopped: false,
      isPaused: false,
      run: null,
      terminal: null,
      posture: "awake",
      messages: [],
      closures: [],
      hints: [],
      items: [],
      rechecks: [],
      tasks: [],
      waits: [],
      timers: [],
    },
    states: { looking: { always: looks }, ...states },
  });
}

function xstate() {
  const ladder = machine();
  let [snapshot] = initialTransition(ladder);
  return () => {
    [snapshot] = transition(ladder, snapshot, { type: "look" });
    return snapshot.value;
  };
}

/** Cedar with as many policies as the ladder has rules, parsed in advance. */
function authorizer() {
  const policies = Array.from(
    { length: 16 },
    (_, rule) =>
      `permit(principal == Agent::"peer", action == Action::"step", resource) when { context.rule == ${rule} };`,
  );
  expect(
    cedar.preparsePolicySet("ladder", { staticPolicies: policies.join("\n") }).type === "success",
    "the policies are read",
  );
  const call = {
    principal: { type: "Agent", id: "peer" },
    action: { type: "Action", id: "step" },
    resource: { type: "Agent", id: "peer" },
    context: { rule: 15 },
    preparsedPolicySetId: "ladder",
    validateRequest: false,
    entities: [],
  };
  return () => cedar.statefulIsAuthorized(call);
}

function expect(holds, what) {
  if (!holds) throw new Error(`expected: ${what}`);
}

async function main([folder, turns]) {
  const subjects = {
    decision: agent(await loadGuest(folder)),
    xstate: xstate(),
    cedar: authorizer(),
  };
  expect(JSON.parse(subjects.decision()).decision !== undefined, "the agent decides");
  expect(subjects.xstate() === "idle", "the machine reaches `idle`");
  expect(subjects.cedar().response?.decision === "allow", "Cedar allows it");
  const least = { decision: Infinity, xstate: Infinity, cedar: Infinity };
  for (let turn = 0; turn < Number(turns); turn += 1) {
    for (const [name, work] of Object.entries(subjects)) {
      const before = performance.now();
      for (let done = 0; done < TIMES; done += 1) work();
      least[name] = Math.min(least[name], ((performance.now() - before) * 1e6) / TIMES);
    }
  }
  console.log(JSON.stringify(least));
}

await main(process.argv.slice(2));
