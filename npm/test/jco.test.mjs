// The component in Node through jco: the example, and what docs/jco.md says.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import test, { before } from "node:test";

import { node, root } from "./package.mjs";

const run = promisify(execFile);
const at = (path) => fileURLToPath(new URL(path, root));
const folder = new URL("target/npm/jco/", root);

/** What jco makes: the function, and the three modules by name. */
let instantiate;
const modules = new Map();

// Transpiles the component with the words of the example's own script.
before(async () => {
  const guest = "target/guest/wakeful.component.wasm";
  assert.ok(existsSync(at(guest)), `${guest} is missing: build it with \`cargo xtask run\``);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await cp(new URL("examples/jco/agent.mjs", root), new URL("agent.mjs", folder));
  await writeFile(new URL("package.json", folder), '{"private":true,"type":"module"}\n');
  const { scripts } = JSON.parse(await text("examples/jco/package.json"));
  const [, ...words] = scripts.build.split(" ").map((word) => word.replace("../../", at("")));
  await run(at("npm/node_modules/.bin/jco"), words, { cwd: folder });
  ({ instantiate } = await import(new URL("wakeful/wakeful.js", folder)));
  for (const name of ["wakeful.core.wasm", "wakeful.core2.wasm", "wakeful.core3.wasm"]) {
    modules.set(
      name,
      await WebAssembly.compile(await readFile(new URL(`wakeful/${name}`, folder))),
    );
  }
});

const text = (path) => readFile(new URL(path, root), "utf8");

/** The parts of an honest host over these lines. */
function parts(lines) {
  return {
    ledger: {
      append: (_expected, batch) => void lines.push(...batch),
      read: (after, limit) => lines.slice(Number(after), Number(after) + limit),
      loadSnapshot: () => undefined,
      storeSnapshot() {},
    },
    clock: { now: () => 1_780_000_000_000_000_000n },
    provider: {
      startTurn() {},
      interject() {},
      yieldTurn() {},
      abortTurn() {},
      alive: () => [],
      release() {},
    },
  };
}

/** An instance whose parts are changed before it starts, or later through `host`. */
function instance({ lines = [], change = () => {}, version = "" } = {}) {
  const host = parts(lines);
  change(host);
  // jco takes the functions out of the parts once, so these look them up at each call.
  const late = (part) =>
    Object.fromEntries(
      Object.keys(part).map((name) => [name, part[name] && ((...given) => part[name](...given))]),
    );
  const imports = Object.entries(host).map(([name, part]) => [
    `wakeful:scheduler/${name}${version}`,
    late(part),
  ]);
  const { agent } = instantiate((name) => modules.get(name), Object.fromEntries(imports));
  return { agent, host, lines };
}

const OPTIONS = JSON.stringify({ agent_id: "ada" });

function opened(given) {
  const made = instance(given);
  made.agent.open(OPTIONS, "drive");
  return made;
}

const HINT = JSON.stringify({ fact: "wake_hint_submitted", reason: "look" });
const PROMPT = JSON.stringify({
  fact: "message_queued",
  message: {
    id: "m1",
    kind: "operator_prompt",
    origin: { kind: "operator" },
    trust: "trusted_operator",
    body: { type: "text", text: "look" },
  },
});

/** What a call throws. */
function thrown(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  assert.fail("the call succeeds");
}

/** Asserts that the instance is gone, that its ledger is whole, and that another one continues. */
function isGone({ agent, lines }) {
  const [first, second, third] = [1, 2, 3].map(() => thrown(() => agent.propose(HINT)));
  assert.equal(first.constructor, WebAssembly.RuntimeError);
  assert.match(
    first.message,
    /^wasm trap: (wasm `unreachable` instruction executed|cannot enter component instance)$/,
  );
  for (const later of [second, third]) {
    assert.equal(later.message, "wasm trap: cannot enter component instance");
  }
  const before = lines.length;
  const next = opened({ lines });
  assert.ok(lines.length > before, "the restart is recorded");
  next.agent.propose(HINT);
  assert.equal(JSON.parse(next.agent.explain("run_loop_idle")).head.seq, lines.length);
  return next;
}

test("examples/jco keeps its ledger in a file, and the second run continues, also after a torn batch", async () => {
  const page = await text("docs/jco.md");
  const [, shown] = page.match(/\$ node agent\.mjs agent\.ledger "check the build"\n([^]*?)```/);
  const say = (what) => node(folder, fileURLToPath(new URL("agent.mjs", folder)), ledger, what);
  const ledger = fileURLToPath(new URL("agent.ledger", folder));
  // A process that died in its first append.
  await writeFile(ledger, '{"seq":1,"at":');
  assert.equal(await say("check the build"), shown);
  const stored = await readFile(ledger, "utf8");
  await appendFile(ledger, '{"seq":13,"at":"');
  assert.match(await say("again"), /^opened at entry 13\nturn ada:run-19 on "again"\n/);
  assert.ok((await readFile(ledger, "utf8")).startsWith(stored));
});

test("the program and the command on the page are those of the example", async () => {
  const [page, example] = await Promise.all(["docs/jco.md", "examples/jco/agent.mjs"].map(text));
  const blocks = [...page.matchAll(/```js\n([^]*?)```/g)].map(([, block]) => block);
  assert.equal(blocks.length, 2);
  for (const block of blocks) {
    assert.ok(example.includes(block), block);
  }
  const { scripts, devDependencies } = JSON.parse(await text("examples/jco/package.json"));
  assert.ok(page.includes(`$ npx ${scripts.build}\n`), scripts.build);
  const version = devDependencies["@bytecodealliance/jco"];
  assert.ok(page.includes(`jco ${version}`), version);
  const ours = JSON.parse(await text("npm/package.json"));
  assert.equal(ours.devDependencies["@bytecodealliance/jco"], version);
});

test("jco asks for three modules, and compiled ones serve many instances", () => {
  const asked = [];
  const { ledger, clock, provider } = parts([]);
  const made = instantiate(
    (name) => {
      asked.push(name);
      return modules.get(name);
    },
    {
      "wakeful:scheduler/ledger": ledger,
      "wakeful:scheduler/clock": clock,
      "wakeful:scheduler/provider": provider,
    },
  );
  assert.deepEqual(asked, ["wakeful.core.wasm", "wakeful.core2.wasm", "wakeful.core3.wasm"]);
  made.agent.open(OPTIONS, "drive");
  const other = opened();
  other.agent.propose(HINT);
  assert.equal(JSON.parse(made.agent.explain("run_loop_idle")).head.seq, 2);
});

test("the names of the imports have no version, although the types say so", async () => {
  assert.throws(() => instance({ version: "@0.2.0" }), TypeError);
  const types = await readFile(new URL("wakeful/wakeful.d.ts", folder), "utf8");
  assert.match(types, /'wakeful:scheduler\/ledger@0\.2\.0': typeof/);
  const program = (cast) => `
import { instantiate } from "./wakeful/wakeful.js";
declare const part: never;
instantiate(() => part, { "wakeful:scheduler/ledger": part }${cast});
`;
  const compiled = async (name, cast) => {
    await writeFile(new URL(name, folder), program(cast));
    const words = ["--noEmit", "--strict", "--module", "nodenext", "--skipLibCheck", name];
    return run(at("npm/node_modules/.bin/tsc"), ["--ignoreConfig", ...words], { cwd: folder });
  };
  await compiled("cast.ts", " as never");
  await assert.rejects(compiled("plain.ts", ""), { stdout: /wakeful:scheduler\/ledger/ });
});

test("a function has no `this`, and a missing one is found at the start", () => {
  class Lines {
    kept = [];
    append(_expected, batch) {
      this.kept.push(...batch);
    }
    read() {
      return this.kept;
    }
    loadSnapshot() {}
    storeSnapshot() {}
  }
  const { clock, provider } = parts([]);
  const over = (ledger) =>
    instantiate((name) => modules.get(name), {
      "wakeful:scheduler/ledger": ledger,
      "wakeful:scheduler/clock": clock,
      "wakeful:scheduler/provider": provider,
    });
  assert.match(
    thrown(() => over(new Lines()).agent.open(OPTIONS, "drive")).message,
    /of undefined/,
  );
  const { storeSnapshot, ...rest } = parts([]).ledger;
  assert.match(thrown(() => over(rest)).message, /storeSnapshot/);
});

test("an object in place of a text is a TypeError", () => {
  const { agent, lines } = opened();
  for (const call of [
    () => agent.propose({ fact: "wake_hint_submitted" }),
    () => agent.open({ agent_id: "ada" }, "drive"),
  ]) {
    const error = thrown(call);
    assert.equal(error.constructor, TypeError);
    assert.equal(error.payload, undefined);
  }
  // It does no harm.
  agent.propose(HINT);
  assert.equal(lines.length, 3);
});

test("integers of 64 bits are BigInts", () => {
  const seen = {};
  const { agent } = opened({
    change: ({ ledger }) => {
      const { append, read } = ledger;
      ledger.append = (expected, batch) => {
        seen.seq = typeof expected.seq;
        append(expected, batch);
      };
      ledger.read = (after, limit) => {
        Object.assign(seen, { after: typeof after, limit: typeof limit });
        return read(after, limit);
      };
    },
  });
  assert.deepEqual(seen, { seq: "bigint", after: "bigint", limit: "number" });
  assert.equal(agent.catchUp(), 0n);
  assert.equal(agent.nextWake(), undefined);
  agent.propose(JSON.stringify({ fact: "timer_created", timer_id: "t", duration_ms: 60_000 }));
  assert.equal(agent.nextWake(), 1_780_000_060_000_000_000n);
  // Where the guest takes one, a whole number will do.
  assert.equal(agent.stateAt(1), agent.stateAt(1n));
  assert.throws(() => JSON.stringify({ at: agent.nextWake() }), TypeError);
});

for (const [what, options, place] of [
  ["an unknown option", '{"agent_id":"ada","colour":1}', { line: 1n, column: 19n, path: "colour" }],
  ["an empty agent id", '{"agent_id":""}', undefined],
  ["text that is not JSON", "{", { line: 1n, column: 1n, path: "" }],
]) {
  test(`open with ${what} throws a payload, and the instance takes the next call`, () => {
    const { agent, lines } = instance();
    const error = thrown(() => agent.open(options, "drive"));
    assert.equal(error.constructor.name, "ComponentError");
    assert.equal(error.message, "[object Object] (see error.payload)");
    assert.equal(error.payload.code, "malformed");
    assert.notEqual(error.payload.message, "");
    assert.deepEqual(error.payload.place, place && { file: undefined, ...place });
    assert.deepEqual(lines, []);
    agent.open(OPTIONS, "drive");
    assert.equal(lines.length, 2);
  });
}

test("a clock in milliseconds is refused before anything is recorded, as BigInt or number", () => {
  for (const now of [1_780_000_000_000n, 1_780_000_000_000]) {
    const { agent, host, lines } = instance({ change: ({ clock }) => (clock.now = () => now) });
    const { payload } = thrown(() => agent.open(OPTIONS, "drive"));
    assert.equal(payload.code, "misuse");
    assert.match(payload.message, /this looks like milliseconds/);
    assert.deepEqual(lines, []);
    host.clock.now = () => 1_780_000_000_000_000_000n;
    agent.open(OPTIONS, "drive");
  }
});

/** All exports but `open` and `schemaVersion`, with what they are called with. */
const CALLS = {
  catchUp: [],
  propose: [HINT],
  step: ["run_loop_idle"],
  runUntilRest: [],
  importFolder: ["{}"],
  replay: ["{}"],
  explain: ["run_loop_idle"],
  explainAt: ["run_loop_idle", 1n],
  whyNot: ["run_loop_idle", "Sleep"],
  whyNotAt: ["run_loop_idle", "Sleep", 1n],
  summary: [],
  state: [],
  stateAt: [1n],
  snapshot: [],
  nextWake: [],
};

test("a call before open is refused, except for the version of the schema", () => {
  const { agent, lines } = instance();
  assert.deepEqual(
    Object.keys(agent).sort(),
    [...Object.keys(CALLS), "open", "schemaVersion"].sort(),
  );
  for (const [name, given] of Object.entries(CALLS)) {
    const { payload } = thrown(() => agent[name](...given));
    assert.equal(payload?.code, "wrong-state", name);
    assert.match(payload.message, /call `open` first/, name);
  }
  assert.match(agent.schemaVersion(), /^\d+\.\d+\.\d+$/);
  assert.deepEqual(lines, []);
  agent.open(OPTIONS, "drive");
});

const CONFLICT = { tag: "conflict", val: 77n };
const FAILED = { tag: "failed", val: "disk full" };

/** Ways in which jco takes an error of an import. */
const WAYS = {
  "thrown in a payload": (payload) => {
    throw { payload };
  },
  "thrown as it is": (payload) => {
    throw payload;
  },
  "thrown as the payload of an Error": (payload) => {
    throw Object.assign(new Error("why"), { payload });
  },
  returned: (val) => ({ tag: "err", val }),
};

for (const [way, fail] of Object.entries(WAYS)) {
  test(`an error of the ledger that is ${way} reaches the caller, and nothing changes`, () => {
    for (const [error, code, says] of [
      [CONFLICT, "conflict", /entry 77/],
      [FAILED, "ledger-failed", /disk full/],
    ]) {
      const { agent, host, lines } = opened();
      const { append } = host.ledger;
      host.ledger.append = () => fail(error);
      const { payload } = thrown(() => agent.propose(HINT));
      assert.equal(payload.code, code);
      assert.match(payload.message, says);
      assert.equal(lines.length, 2);
      host.ledger.append = append;
      agent.propose(HINT);
      assert.equal(lines.length, 3);
    }
  });

  test(`an error of the provider that is ${way} aborts the turn, and the call succeeds`, () => {
    const { agent, lines } = opened({
      change: ({ provider }) => (provider.startTurn = () => fail("no model")),
    });
    agent.propose(PROMPT);
    agent.runUntilRest();
    assert.ok(lines.some((line) => line.includes('"kind":"aborted"')));
    agent.propose(HINT);
  });
}

/** Ways to end an instance from the ledger, with what the call throws. */
const ENDS = {
  "a plain Error": [new Error("disk full"), /^disk full$/],
  "a text": ["disk full", /invalid variant tag/],
  "an unknown tag": [{ payload: { tag: "broken", val: "disk" } }, /invalid variant tag/],
};

for (const [what, [error, says]] of Object.entries(ENDS)) {
  test(`${what} that append throws ends the instance, and another one continues`, () => {
    const made = opened();
    made.host.ledger.append = () => {
      throw error;
    };
    const why = thrown(() => made.agent.propose(HINT));
    assert.match(why.message, says);
    assert.equal(why.payload, undefined);
    assert.equal(made.lines.length, 2);
    isGone(made);
  });
}

test("a plain Error of a provider ends the instance, and the turn is replayed in another one", () => {
  const made = opened();
  made.host.provider.startTurn = () => {
    throw new Error("no model");
  };
  made.agent.propose(PROMPT);
  assert.equal(thrown(() => made.agent.runUntilRest()).message, "no model");
  const { agent } = isGone(made);
  const [step] = JSON.parse(agent.runUntilRest());
  assert.equal(step.decision.decision, "StartModelTurn");
});

test("a clock that throws ends the instance of an open agent", () => {
  const made = opened();
  made.host.clock.now = () => {
    throw new Error("no clock");
  };
  assert.equal(thrown(() => made.agent.propose(HINT)).message, "no clock");
  isGone(made);
});

test("jco takes a promise for a success: what an async append does not store is not missed", () => {
  const { agent, lines } = instance({ change: ({ ledger }) => (ledger.append = async () => {}) });
  agent.open(OPTIONS, "drive");
  assert.equal(JSON.parse(agent.propose(HINT)).answer, "accepted");
  assert.deepEqual(lines, []);
});

test("a call from inside an import is a trap, also if the import catches it", () => {
  const made = opened();
  let inside;
  made.host.provider.startTurn = () => {
    inside = thrown(() => made.agent.propose(HINT));
  };
  made.agent.propose(PROMPT);
  const [step] = JSON.parse(made.agent.runUntilRest());
  assert.equal(step.decision.decision, "StartModelTurn");
  assert.equal(inside.constructor, WebAssembly.RuntimeError);
  isGone(made);
});
