// Hosts that misbehave, in Node and in the browser. Each gets a `WakefulError` with a code and a
// sentence, the ledger stays whole, and the scheduler continues. A case changes a part of a sound
// host, calls, and restores the part.

const START = 1_779_872_400_000_000_000n;

const message = (id) => ({
  fact: "message_queued",
  message: {
    id,
    kind: "operator_prompt",
    origin: { kind: "operator" },
    trust: "trusted_operator",
    body: { type: "text", text: "look" },
  },
});

function check(holds, what) {
  if (!holds) {
    throw new Error(what);
  }
}

/** A getter of every property, an index of every array, throws. */
const trap = (target) =>
  new Proxy(target, {
    get() {
      throw new Error("do not look");
    },
  });

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
};

const throws = (what) => () => {
  throw what;
};

/** Values that a host may throw. None of them is an ordinary error. */
const odd = {
  undefined: undefined,
  null: null,
  "a string": "the disk is full",
  "a number": 7,
  "a symbol": Symbol("why"),
  "a bigint": 7n,
  "a function": () => {},
  "a frozen object": Object.freeze({ code: "conflict", found: "seven" }),
  "a frozen error": Object.freeze(new Error("the disk is full")),
  "an error whose message is a number": Object.assign(new Error(), { message: 7 }),
  "an error with a message that throws": Object.defineProperty(new Error(), "message", {
    get: throws(new Error("again")),
  }),
  "a trap": trap({}),
  "a revoked proxy": revoked(),
  "an object without prototype": Object.create(null),
  "a conflict nowhere": { code: "conflict", found: Number.NaN },
  "a conflict below zero": { code: "conflict", found: -1 },
  "an endless string": "x".repeat(1_000_000),
};

/** Values that a ledger may return instead of a page. */
const pages = (whole) => ({
  undefined: undefined,
  null: null,
  "a number": 7,
  "a string": whole[0],
  "an object": {},
  "an object that has a length": { length: 0 },
  "lines that are numbers": [7],
  "lines that are holes": new Array(3),
  "a line that is not an entry": ["{}"],
  "a line that is cut": [whole[0].slice(0, -1)],
  "half a surrogate": ["\ud800"],
  "lines in another order": [...whole].reverse(),
  "a line that is missing": whole.slice(1),
  "the same line twice": [whole[0], whole[0]],
  "another agent's line": [whole[0].replace('"agent_id":"a"', '"agent_id":"b"')],
  "more lines than were asked for": Array.from({ length: 5000 }, () => whole[0]),
  "a huge line": ["x".repeat(5_000_000)],
  "a trap": trap([]),
  "an array whose lines throw": Object.defineProperty([1], 0, {
    get: throws(new Error("do not look")),
  }),
  "a revoked proxy": revoked(),
  "an endless circle": Object.assign([], { toJSON: throws(undefined) }),
});

/** Values that a clock may return. */
const readings = {
  "a number": Date.now(),
  undefined: undefined,
  "a string": "2026-05-27T09:00:00Z",
  "a date": new Date(0),
  "beyond 64 bits": 2n ** 63n,
  "far below zero": -(2n ** 64n),
  "a promise": Promise.resolve(START),
};

/** Values that options may be. */
const options = {
  undefined: undefined,
  null: null,
  "a number": 7,
  "without agent": {},
  "an agent that is a number": { agent_id: 7 },
  "an unknown edition": { agent_id: "a", edition: "1999" },
  "a policy of zeros": { agent_id: "a", policy: { lane_burst: 0 } },
  "a trap": trap({}),
  "a circle": (() => {
    const circle = { agent_id: "a" };
    return Object.assign(circle, { circle });
  })(),
  "a bigint": { agent_id: 7n },
  "a field that is not known": { agent_id: "a", polcy: {} },
};

/** The host, whose parts can be changed. */
function soundHost({ MemoryLedger }) {
  const lines = new MemoryLedger();
  return {
    lines,
    ledger: {
      append: (expected, batch) => lines.append(expected, batch),
      read: (after, limit) => lines.read(after, limit),
    },
    clock: { now: () => START },
    provider: { startTurn() {}, interject() {}, yieldTurn() {}, abortTurn() {}, release() {} },
  };
}

/** Both loops, by the names of their classes. */
export const LOOPS = ["Scheduler", "AsyncScheduler"];

/** All cases for one loop, `Scheduler` or `AsyncScheduler`: pairs of a name and a test. */
export function cases(wakeful, name) {
  const { MemoryLedger, Scheduler, WakefulError } = wakeful;
  const loop = wakeful[name];
  const all = [];

  async function refused(codes, attempt, says = /./) {
    let thrown;
    try {
      await attempt();
    } catch (error) {
      check(
        error instanceof WakefulError,
        `not a WakefulError but ${Object.prototype.toString.call(error)}`,
      );
      thrown = error;
    }
    check(thrown !== undefined, "nothing was thrown");
    check(codes.includes(thrown.code), `the code is ${thrown.code}: ${thrown.message}`);
    check(
      says.test(thrown.message) && thrown.message.length > 10,
      `the message is ${thrown.message}`,
    );
    return thrown;
  }

  /**
   * Checks that the ledger is what an untouched scheduler would have written, and that both the
   * scheduler and a new one continue with it.
   */
  async function sound(scheduler, host, id) {
    await scheduler.catchUp();
    check((await scheduler.propose(message(id))).answer === "accepted", "the next call works");
    const head = await scheduler.headText();
    const again = Scheduler.observe(
      { agent_id: "a" },
      { ...soundHost(wakeful), ledger: host.lines },
    );
    check(
      again.headText() === head && again.stateText() === (await scheduler.stateText()),
      "the ledger is whole",
    );
    again.free();
  }

  /**
   * A case over an open scheduler. The change of the host is undone before the scheduler continues.
   */
  function over(what, attempt) {
    all.push([
      `${name}: ${what}`,
      async () => {
        const host = soundHost(wakeful);
        const scheduler = await loop.drive({ agent_id: "a" }, host);
        await scheduler.propose(message("m1"));
        const parts = {
          ledger: { ...host.ledger },
          clock: { ...host.clock },
          provider: { ...host.provider },
        };
        const restore = () =>
          Object.keys(parts).forEach((part) => Object.assign(host[part], parts[part]));
        await attempt(scheduler, host, restore);
        restore();
        await sound(scheduler, host, "last");
        await (scheduler.close?.() ?? scheduler.free());
      },
    ]);
  }

  /** Opens a scheduler over these lines and the changed host. */
  const opens = (what, codes, change, says) =>
    all.push([
      `${name}: ${what}`,
      async () => {
        const host = soundHost(wakeful);
        const first = await loop.drive({ agent_id: "a" }, host);
        await first.propose(message("m1"));
        const before = [...host.lines.lines];
        const { given, lent } = { given: { agent_id: "a" }, lent: host, ...change(host, before) };
        await refused(codes, async () => loop.drive(given, lent), says);
        check(JSON.stringify(host.lines.lines) === JSON.stringify(before), "nothing was written");
      },
    ]);

  for (const [what, thrown] of Object.entries(odd)) {
    over(`append throws ${what}`, async (scheduler, host) => {
      const state = await scheduler.stateText();
      host.ledger.append = throws(thrown);
      await refused(["ledger_failed"], () => scheduler.propose(message("m2")));
      check((await scheduler.stateText()) === state, "the state is as before");
    });
    over(`the clock throws ${what}`, async (scheduler, host) => {
      host.clock.now = throws(thrown);
      await refused(["host_failed"], () => scheduler.propose(message("m2")), /the clock failed/);
      await refused(["host_failed"], () => scheduler.nextWake());
    });
    over(`the provider throws ${what}`, async (scheduler, host) => {
      host.provider.startTurn = throws(thrown);
      await scheduler.runUntilRest();
      check(
        host.lines.lines.some((line) => line.includes('"kind":"aborted"')),
        "its turn is aborted",
      );
    });
    opens(`read throws ${what}`, ["ledger_failed"], (host) => {
      host.ledger.read = throws(thrown);
    });
  }
  over("a huge message of what was thrown is kept whole", async (scheduler, host) => {
    host.ledger.append = throws(odd["an endless string"]);
    const thrown = await refused(["ledger_failed"], () => scheduler.propose(message("m2")));
    check(thrown.message.length > 1_000_000, "it is all there");
  });

  for (const what of Object.keys(pages([""]))) {
    opens(`read gives ${what}`, ["ledger_failed", "cannot_open"], (host, lines) => {
      host.ledger.read = () => pages(lines)[what];
    });
    over(`read gives ${what} to catchUp`, async (scheduler, host) => {
      const lines = [...host.lines.lines];
      host.ledger.read = () => pages(lines)[what];
      await refused(["ledger_failed", "cannot_open"], () => scheduler.catchUp());
    });
  }

  for (const [what, reading] of Object.entries(readings)) {
    over(`the clock says ${what}`, async (scheduler, host) => {
      host.clock.now = () => reading;
      await refused(["host_failed"], () => scheduler.propose(message("m2")), /bigint: nanoseconds/);
    });
  }
  for (const [unit, nanos] of Object.entries({
    seconds: 1_000_000_000n,
    milliseconds: 1_000_000n,
    microseconds: 1_000n,
  })) {
    const now = () => START / nanos;
    const says = new RegExp(`answer nanoseconds since .*; this looks like ${unit}$`);
    over(`the clock begins to count ${unit}`, async (scheduler, host) => {
      const state = await scheduler.stateText();
      host.clock.now = now;
      await refused(["misuse"], () => scheduler.propose(message("m2")), says);
      await refused(["misuse"], () => scheduler.runUntilRest(), says);
      check((await scheduler.stateText()) === state, "the state is as before");
    });
    opens(
      `a clock that counts ${unit}`,
      ["misuse"],
      (host) => ({ lent: { ...host, clock: { now } } }),
      says,
    );
    all.push([
      `${name}: no ledger begins by a clock that counts ${unit}`,
      async () => {
        const host = { ...soundHost(wakeful), clock: { now } };
        await refused(["misuse"], async () => loop.drive({ agent_id: "a" }, host), says);
        await refused(["misuse"], async () => loop.observe({ agent_id: "a" }, host), says);
        check(host.lines.lines.length === 0, "nothing was written");
      },
    ]);
  }
  over("a clock that runs backwards, and below zero, changes nothing", async (scheduler, host) => {
    for (const now of [START - 3_600_000_000_000n, -5n, -(2n ** 63n)]) {
      host.clock.now = () => now;
      await scheduler.propose(message(`at ${now}`));
    }
    const times = host.lines.lines.map((line) => JSON.parse(line).at);
    check(
      times.every((at) => at === times[0]),
      "time stands still",
    );
  });

  all.push([
    `${name}: an agent without an id`,
    async () => {
      const host = soundHost(wakeful);
      const says = /^agent_id: id is empty/;
      await refused(["malformed"], async () => loop.drive({ agent_id: "" }, host), says);
      check(host.lines.lines.length === 0, "nothing was written");
    },
  ]);
  for (const [what, given] of Object.entries(options)) {
    opens(`options: ${what}`, ["malformed"], () => ({ given }), /malformed options/);
  }
  for (const what of ["ledger", "clock", "provider"]) {
    opens(`a host whose ${what} throws when it is looked for`, ["host_failed"], (host) => ({
      lent: Object.defineProperty({ ...host }, what, { get: throws(undefined) }),
    }));
  }
  for (const part of ["ledger", "clock", "provider"]) {
    const says = new RegExp(`needs .*: \`${part}\` is missing`);
    opens(
      `a host without ${part}`,
      ["host_failed"],
      (host) => ({ lent: { ...host, [part]: undefined } }),
      says,
    );
  }
  opens("no host", ["host_failed"], () => ({ lent: null }));

  for (const [what, fact] of Object.entries({
    undefined: undefined,
    null: null,
    "a number": 7,
    "no JSON": "{",
    "an unknown fact": { fact: "nothing_happened" },
    "a fact with an unknown field": {
      fact: "timer_created",
      timer_id: "t",
      duration_ms: 1,
      intervall_ms: 1,
    },
    "a fact with an empty id": { fact: "timer_created", timer_id: "", duration_ms: 1 },
    "a bigint": { fact: "timer_created", timer_id: "t", duration_ms: 7n },
    "a trap": trap({}),
    "a huge text": `{"fact":"${"x".repeat(3_000_000)}"}`,
    "deep brackets": "[".repeat(100_000),
  })) {
    over(`a fact that is ${what}`, async (scheduler, host) => {
      const before = host.lines.lines.length;
      await refused(["malformed", "too_large"], () => scheduler.propose(fact));
      check(host.lines.lines.length === before, "nothing was written");
    });
  }

  over("an append that stores and changes what it was given", async (scheduler, host, restore) => {
    host.ledger.append = (expected, batch) => {
      host.lines.append(expected, [...batch]);
      batch.length = 0;
      expected.seq = 99;
    };
    await scheduler.propose(message("m2"));
    restore();
    check((await scheduler.head()).seq === host.lines.lines.length, "the head is the ledger's");
  });

  if (name === "Scheduler") {
    for (const [what, promise] of Object.entries({
      promise: () => Promise.resolve(),
      thenable: () => ({ then() {} }),
    })) {
      over(`append gives a ${what}`, async (scheduler, host) => {
        host.ledger.append = promise;
        await refused(
          ["misuse"],
          () => scheduler.propose(message("m2")),
          /^`ledger.append` returned a promise.*use `AsyncScheduler`/,
        );
      });
      opens(`read gives a ${what}`, ["misuse"], (host) => {
        host.ledger.read = promise;
      });
      over(`the provider gives a ${what}`, async (scheduler, host) => {
        host.provider.startTurn = promise;
        const says = /^`provider.startTurn` returned a promise.*use `AsyncScheduler`/;
        await refused(["misuse"], () => scheduler.runUntilRest(), says);
        const { sentence } = scheduler.explain("run_loop_idle");
        check(
          /failed \(`provider.startTurn` returned a promise.*\) and is tried again/.test(sentence),
          `the sentence is ${sentence}`,
        );
      });
    }
    over("the provider calls the scheduler while it is called", async (scheduler, host) => {
      const codes = [];
      host.provider.startTurn = () => {
        for (const again of [
          () => scheduler.propose(message("m2")),
          () => scheduler.head(),
          () => scheduler.nextWake(),
        ]) {
          try {
            again();
          } catch (error) {
            codes.push(error.code);
          }
        }
      };
      const says = /^`provider.startTurn` called the scheduler/;
      await refused(["misuse"], () => scheduler.runUntilRest(), says);
      check(codes.join() === "misuse,misuse,misuse", `the codes are ${codes}`);
      await scheduler.explain("run_loop_idle");
    });
    over(
      "the ledger and the clock call the scheduler while they are called",
      async (scheduler, host) => {
        host.ledger.append = () => scheduler.propose(message("m3"));
        await refused(
          ["misuse"],
          () => scheduler.propose(message("m2")),
          /^`ledger.append` called/,
        );
        host.clock.now = () => scheduler.nextWake();
        await refused(["misuse"], () => scheduler.nextWake(), /^`clock.now` called/);
      },
    );
    over("the provider of one scheduler uses another one", async (scheduler, host) => {
      const other = loop.drive({ agent_id: "a" }, soundHost(wakeful));
      host.provider.startTurn = () => other.propose(message("m2"));
      const [step] = scheduler.runUntilRest();
      check(step.decision.decision === "StartModelTurn", "that is not a mistake");
      check(other.head().seq > 2, "the other one took it");
      other.free();
    });
    all.push([
      `${name}: a call after free`,
      async () => {
        const scheduler = loop.drive({ agent_id: "a" }, soundHost(wakeful));
        scheduler.free();
        for (const after of [
          () => scheduler.head(),
          () => scheduler.propose(message("m")),
          () => scheduler.free(),
        ]) {
          await refused(["misuse"], async () => after(), /was freed: open the ledger again/);
        }
      },
    ]);
  } else {
    for (const [what, thrown] of Object.entries(odd)) {
      over(`append is rejected with ${what}`, async (scheduler, host) => {
        host.ledger.append = () => Promise.reject(thrown);
        await refused(["ledger_failed"], () => scheduler.propose(message("m2")));
      });
      over(`the provider's promise is rejected with ${what}`, async (scheduler, host) => {
        host.provider.startTurn = () => Promise.reject(thrown);
        await scheduler.runUntilRest();
        await new Promise((resolve) => setTimeout(resolve, 0));
        await scheduler.head();
        check(
          host.lines.lines.some((line) => line.includes('"kind":"aborted"')),
          "its turn is aborted",
        );
      });
    }
    over(
      "the provider calls the scheduler while it is called, and the calls queue up",
      async (scheduler, host) => {
        const answers = [];
        host.provider.startTurn = () => {
          answers.push(scheduler.propose(message("m2")), scheduler.propose(message("m3")));
        };
        await scheduler.runUntilRest();
        check(
          (await Promise.all(answers)).every(({ answer }) => answer === "accepted"),
          "both are taken",
        );
      },
    );
    over("a provider whose thenable throws", async (scheduler, host) => {
      host.provider.startTurn = () =>
        Object.defineProperty({}, "then", { get: throws("do not look") });
      await scheduler.runUntilRest();
      await scheduler.head();
      await scheduler.head();
      check(
        host.lines.lines.some((line) => line.includes('"kind":"aborted"')),
        "its turn is aborted",
      );
    });
  }
  return all;
}
