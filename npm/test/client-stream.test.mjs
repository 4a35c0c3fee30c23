// The stream of `@wakeful/scheduler/client` against a real `wakeful serve`, over connections that
// break, lie and fall silent.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import test, { after, before } from "node:test";
import { inspect } from "node:util";

import { EventSource } from "eventsource";

import { project } from "./package.mjs";
import { collected, cutting, Proxy, randomFrom, Served, sleep } from "./served.mjs";

const folder = await project("client-stream", {});
const installed = (path) =>
  import(new URL(`node_modules/@wakeful/scheduler/dist/${path}`, folder).href);
const { EntryError, WakefulClient } = await installed("client/client.js");
const { EventReader } = await installed("client/events.js");
const { Watched } = await installed("client/waiting.js");
const { MemoryLedger, Scheduler } = await installed("node.js");

/** Each run of the tests has cuts of its own, and a failure says which. */
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
const DISCONNECTS = 100;

let served;
let client;

before(async () => {
  served = await Served.start();
  client = new WakefulClient(served);
});
after(() => served?.end());

/** The number of entries of an agent, once a decision has followed whatever was said to it. */
async function settled(id) {
  for (let before; ;) {
    const { length } = await served.lines(id);
    if (length === before) {
      return length;
    }
    before = length;
    await sleep(500);
  }
}

/** The core reads and verifies the lines: the chain is right, by other code than the client's. */
function verifies(id, lines) {
  const ledger = new MemoryLedger();
  ledger.lines.push(...lines);
  const clock = { now: () => BigInt(Date.now()) * 1_000_000n };
  const provider = { startTurn() {}, interject() {}, yieldTurn() {}, abortTurn() {}, release() {} };
  const head = Scheduler.observe({ agent_id: id }, { ledger, clock, provider }).head();
  assert.equal(head.chain, JSON.parse(lines.at(-1)).chain);
}

/** An agent with a ledger of some hundred kilobytes, also of characters of several bytes. */
async function longAgent(id) {
  const agent = client.agent(id);
  await agent.put({ turns: "elsewhere" });
  for (let index = 0; index < 120; index += 1) {
    await agent.say(`${index}: ${"größer 🌱 als \r\n vorher ".repeat(index % 40)}`, {
      kind: "event",
    });
  }
  return agent;
}

/** Reads all entries of an agent through a proxy that cuts, and says some more while it does. */
async function overCuts(name, read) {
  const agent = await longAgent(name);
  const random = randomFrom(SEED);
  const cuts = cutting(random, { count: DISCONNECTS, most: 5_000 });
  // The first answer's head passes, so that the URL is known to be right.
  const proxy = await Proxy.before(served.url, (connection, bytes) => {
    if (cuts.cuts === 0) {
      connection.left ??= 2_000;
    }
    return cuts.pass(connection, bytes);
  });
  try {
    const more = (async () => {
      for (let index = 0; index < 20; index += 1) {
        await sleep(20);
        await agent.say(`while you read: ${index}`);
      }
      return settled(name);
    })();
    // Unhandled for a while, if reading fails first.
    more.catch(() => {});
    const lines = await read(proxy, more);
    assert.equal(cuts.cuts, DISCONNECTS, `seed ${SEED}`);
    assert.deepEqual(lines, await served.lines(name), `seed ${SEED}`);
    verifies(name, lines);
    assert.ok(!/^[A-Z]+ \S*wks_/m.test(proxy.asked), "a token was in a URL");
  } finally {
    await proxy.end();
  }
}

test("over 100 cut connections, the client yields each entry once, in order and verified", async () => {
  await overCuts("cut-client", async (proxy, count) => {
    const { url } = proxy;
    const agent = new WakefulClient({ url, token: served.token }).agent("cut-client");
    const lines = [];
    for await (const { seq, text } of agent.entries()) {
      assert.equal(seq, lines.length + 1);
      lines.push(text);
      // The last entries come when all was said.
      if (lines.length > 250 && lines.length >= (await count)) {
        break;
      }
    }
    assert.match(proxy.asked, /^last-event-id: [1-9]/im);
    return lines;
  });
});

test("over 100 cut connections, the client of the package `eventsource` loses and doubles nothing", async () => {
  await overCuts("cut-eventsource", async ({ url }, count) => {
    const authorized = async (input, init) => {
      const headers = { ...init.headers, authorization: `Bearer ${served.token}` };
      const answer = await fetch(input, { ...init, headers });
      // By itself it waits three seconds before it connects again.
      const sooner = new TransformStream({
        start: (stream) => stream.enqueue(new TextEncoder().encode("retry: 1\n\n")),
      });
      const { url, status, redirected } = answer;
      return {
        url,
        status,
        redirected,
        headers: answer.headers,
        body: answer.body.pipeThrough(sooner),
      };
    };
    const lines = [];
    const source = new EventSource(`${url}/v1/agents/cut-eventsource/entries`, {
      fetch: authorized,
    });
    source.addEventListener("message", ({ lastEventId, data }) => {
      lines[Number(lastEventId) - 1] = [...(lines[Number(lastEventId) - 1] ?? []), data];
    });
    while (lines.length < (await count)) {
      await sleep(10);
    }
    source.close();
    return lines.map((said) => said.join(" and "));
  });
});

test("over 100 cut connections, `curl` with `Last-Event-ID` loses and doubles nothing", async (t) => {
  if (spawnSync("curl", ["--version"]).error !== undefined) {
    t.diagnostic("curl is missing: install it, or this way to follow an agent stays untested");
    t.skip("curl is missing");
    return;
  }
  await overCuts("cut-curl", async ({ url }, count) => {
    const lines = [];
    while (lines.length < (await count)) {
      const args = ["-sN", "-H", `Authorization: Bearer ${served.token}`];
      args.push("-H", `Last-Event-ID: ${lines.length}`);
      const curl = spawn("curl", [...args, `${url}/v1/agents/cut-curl/entries`]);
      let text = "";
      for await (const bytes of curl.stdout.setEncoding("utf8")) {
        text += bytes;
        const events = text.split("\n\n");
        text = events.pop();
        for (const event of events) {
          const [, id, data] = event.match(/^id: (\d+)\ndata: (.*)$/) ?? [];
          if (id !== undefined) {
            assert.equal(Number(id), lines.length + 1);
            lines.push(data);
          }
        }
        if (lines.length > 250 && lines.length >= (await count)) {
          curl.kill();
        }
      }
    }
    return lines;
  });
});

test("each changed byte of a proxied entry is found, and the error names the entry", async () => {
  const agent = client.agent("changed");
  await agent.put({ turns: "elsewhere" });
  await agent.say("größer 🌱");
  const lines = await served.lines("changed");
  const seq = lines.findIndex((line) => line.includes("🌱")) + 1;
  const event = Buffer.from(`id: ${seq}\ndata: ${lines[seq - 1]}\n\n`);
  assert.ok(seq > 1 && seq < lines.length && event.length > 300);
  let at;
  const proxy = await Proxy.before(served.url, (connection, bytes) => {
    // Everything is held back until the event is whole.
    const held = Buffer.concat([connection.held ?? Buffer.alloc(0), bytes]);
    const begins = held.indexOf(event);
    if (begins >= 0) {
      held[begins + at] ^= 1;
    }
    connection.held = begins >= 0 ? undefined : held;
    return { passed: begins >= 0 ? held : Buffer.alloc(0), cut: false };
  });
  try {
    const { url } = proxy;
    const far = new WakefulClient({ url, token: served.token }).agent("changed");
    for (at = 0; at < event.length; at += 1) {
      const read = [];
      const reading = async () => {
        for await (const entry of far.entries({ until: "head" })) {
          read.push(entry.text);
        }
      };
      const error = await reading().then(
        () => assert.fail(`byte ${at} was changed, and nobody saw it`),
        (why) => why,
      );
      assert.ok(error instanceof EntryError, `byte ${at}: ${inspect(error)}`);
      assert.equal(error.seq, seq, `byte ${at}: ${error.message}`);
      assert.ok(error.message.startsWith(`entry ${seq} `), error.message);
      assert.deepEqual(read, lines.slice(0, seq - 1), `byte ${at}`);
    }
  } finally {
    await proxy.end();
  }
});

test("entries begin after a number or a known head, and a wrong head is found", async () => {
  const agent = client.agent("changed");
  const all = await collected(agent.entries({ until: "head" }));
  const texts = (entries) => entries.map(({ text }) => text);
  const lines = await served.lines("changed");
  assert.deepEqual(texts(all), lines);
  assert.deepEqual(
    all.map(({ text, ...entry }) => entry),
    lines.map((line) => JSON.parse(line)),
  );
  for (const after of [0, 1, 3, all.length, all[2]]) {
    const seq = after.seq ?? after;
    for (const verify of [true, false]) {
      const rest = await collected(agent.entries({ after, until: "head", verify }));
      assert.deepEqual(texts(rest), lines.slice(seq));
    }
  }
  const another = { seq: 3, chain: all[3].chain };
  await assert.rejects(collected(agent.entries({ after: another, until: "head" })), {
    name: "EntryError",
    seq: 4,
    message: "entry 4 breaks the chain: its bytes or an earlier entry were changed",
  });
  for (const verify of [true, false]) {
    await assert.rejects(collected(agent.entries({ after: all.length + 1, verify })), {
      name: "WakefulProblem",
      status: 410,
      code: "no_such_entry",
    });
  }
});

test("entries go on over the death of the server", async () => {
  const agent = client.agent("crashed");
  await agent.put({ turns: "elsewhere" });
  const proxy = await Proxy.before(served.url, (_, bytes) => ({ passed: bytes, cut: false }));
  try {
    const far = new WakefulClient({ url: proxy.url, token: served.token }).agent("crashed");
    const lines = [];
    let has = () => {};
    const reading = (async () => {
      for await (const { text } of far.entries()) {
        lines.push(text);
        has();
        if (text.includes("after the crash")) {
          break;
        }
      }
    })();
    await new Promise((resolve) => (has = resolve));
    await served.kill();
    await sleep(300);
    await served.again();
    client = new WakefulClient(served);
    proxy.retarget(served.url);
    await client.agent("crashed").say("after the crash");
    await reading;
    assert.deepEqual(lines, (await served.lines("crashed")).slice(0, lines.length));
  } finally {
    await proxy.end();
  }
});

test("what passes is tried again once the server has answered, and what lasts is thrown", async () => {
  const agent = client.agent("retried");
  await agent.put({ turns: "elsewhere" });
  const lines = await served.lines("retried");
  const event = (seq) => `id: ${seq}\ndata: ${lines[seq - 1]}\n\n`;
  const stream = (text) => new Response(text, { headers: { "content-type": "text/event-stream" } });
  const problem = (status, code, headers = {}) =>
    Response.json({ status, code, detail: "a sentence that says what to do" }, { status, headers });
  const passing = [
    () => problem(503, "not_ready", { "retry-after": "1" }),
    () => problem(429, "busy"),
    () => new Response("<h1>Bad Gateway</h1>", { status: 502 }),
    () => Promise.reject(new TypeError("fetch failed")),
    () => stream(""),
    () => stream(event(2).slice(0, -1)),
  ];
  const over = async (answers) => {
    const asked = [];
    const fetch = async (_, { headers }) => {
      asked.push(headers.get("last-event-id"));
      return answers.shift()();
    };
    const url = "http://127.0.0.1:9";
    const entries = new WakefulClient({ url, fetch }).agent("retried").entries();
    const read = [];
    try {
      for await (const { text } of entries) {
        read.push(text);
      }
    } catch (why) {
      return { read, asked, why };
    }
  };
  const began = Date.now();
  const last = () => problem(410, "no_such_entry");
  const { read, asked, why } = await over([
    () => stream(event(1)),
    ...passing,
    () => stream(event(2) + event(3)),
    last,
  ]);
  assert.deepEqual(read, lines.slice(0, 3));
  assert.deepEqual(asked, ["0", "1", "1", "1", "1", "1", "1", "1", "3"]);
  assert.equal(why.code, "no_such_entry");
  assert.ok(Date.now() - began >= 1_000, "`Retry-After` was not heeded");
  for (const answer of passing.slice(0, 4)) {
    const first = await over([answer]);
    assert.deepEqual([first.read, first.asked], [[], ["0"]]);
    assert.notEqual(first.why, undefined);
  }
  for (const status of [400, 401, 403, 404, 500]) {
    const lasting = await over([() => stream(event(1)), () => problem(status, "any")]);
    assert.deepEqual([lasting.read, lasting.why.status], [lines.slice(0, 1), status]);
  }
  // A server that sends what was sent already, or leaves something out, is found.
  for (const wrong of [
    event(1),
    event(3),
    event(2).replace("id: 2", "id: 3"),
    `data: ${lines[1]}\n\n`,
  ]) {
    const found = await over([() => stream(event(1)), () => stream(wrong)]);
    assert.deepEqual([found.why.name, found.why.seq], ["EntryError", 2], wrong);
  }
});

test("a connection that falls silent is lost, and the time of the caller does not count", async () => {
  const watched = new Watched(undefined, 50);
  assert.equal(await watched.hears(async () => 7), 7);
  await sleep(100);
  assert.equal(await watched.hears(async (signal) => signal.aborted), false);
  await assert.rejects(
    watched.hears(() => new Promise(() => {})),
    { name: "TimeoutError" },
  );
});

test("events are read as the standard says, however the bytes are split", () => {
  const text =
    "\uFEFF: hello\nid: 1\ndata: a\n\ndata:b\r\ndata: \u{1F331}\r\n\r\nid:2\rdata\rdata: c: d\r\revent: e\ndatum: x\n\nid: 3\nid: \0\ndata: y\n\nid: 4\ndata: cut";
  const expected = [
    { id: "1", data: "a" },
    { id: "1", data: "b\n\u{1F331}" },
    { id: "2", data: "\nc: d" },
    { id: "3", data: "y" },
  ];
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size <= bytes.length; size += 1) {
    const reader = new EventReader("0");
    const read = [];
    for (let at = 0; at < bytes.length; at += size) {
      read.push(...reader.read(bytes.subarray(at, at + size)));
    }
    assert.deepEqual(read, expected, `pieces of ${size}`);
    assert.equal(reader.isAtEnd, false);
  }
});
