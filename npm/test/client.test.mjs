// `@wakeful/scheduler/client` against a real `wakeful serve`: what people do with agents.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import test, { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";

import { project, script } from "./package.mjs";
import { collected, Served, sleep } from "./served.mjs";

const folder = await project("client", {});
const entry = new URL("node_modules/@wakeful/scheduler/dist/client/client.js", folder);
const { WakefulClient, WakefulProblem } = await import(entry.href);

let served;
let client;

before(async () => {
  served = await Served.start();
  client = new WakefulClient(served);
});
after(() => served?.end());

test("a signal ends each wait with its reason, and a loop that is left ends its connection", async () => {
  const agent = client.agent("left");
  await agent.put({ turns: "elsewhere" });
  const signals = [];
  const spying = async (input, init) => {
    signals.push(init.signal);
    return fetch(input, init);
  };
  const { url, token } = served;
  const far = new WakefulClient({ url, token, fetch: spying });
  await collected(far.agent("left").entries(), 1);
  for (const wait of [
    (signal) => collected(far.agent("left").entries({ signal })),
    (signal) => collected(far.agent("left").turns({ signal })),
    (signal) => far.agent("left").openTurn({ wait: 20, signal }),
  ]) {
    const controller = new AbortController();
    const reason = new Error("that is enough");
    setTimeout(() => controller.abort(reason), 100);
    await assert.rejects(wait(controller.signal), reason);
    await assert.rejects(wait(AbortSignal.abort(reason)), reason);
  }
  assert.ok(signals.length >= 4 && signals.every(({ aborted }) => aborted));
});

test("a message with a key may be repeated, and another message under the key is refused", async () => {
  const agent = client.agent("keyed");
  await agent.put({ turns: "elsewhere" });
  const first = await agent.say("ship it", { key: "42" });
  const second = await agent.say("ship it", { key: "42" });
  assert.deepEqual([first.answer, second.answer], ["accepted", "ignored"]);
  assert.equal(second.message_id, first.message_id);
  await assert.rejects(agent.say("stop it", { key: "42" }), {
    name: "WakefulProblem",
    status: 422,
    code: "conflicting_duplicate",
  });
  const other = await agent.say("ship it", { key: "43", kind: "event", lane: "background" });
  assert.notEqual(other.message_id, first.message_id);
});

test("agents are listed over pages", async () => {
  const names = ["page 1/ä", "page-2?", "page.3", "page%204", "page#5"];
  for (const name of names) {
    await client.agent(name).put({ turns: "elsewhere" });
    assert.equal((await client.agent(name).summary()).identity.agent_id, name);
  }
  const listed = async (options) =>
    (await collected(client.agents(options))).map(({ agent_id }) => agent_id);
  const whole = await listed();
  assert.deepEqual(
    whole.filter((name) => name.startsWith("page")),
    names.toSorted(),
  );
  assert.deepEqual(await listed({ limit: 2 }), whole);
  const running = { posture: "active_turn", limit: 1 };
  const before = await listed(running);
  await client.agent("page.3").say("look");
  assert.equal((await client.agent("page.3").openTurn({ wait: 20 })).message.body.text, "look");
  assert.deepEqual(await listed(running), [...before, "page.3"].sort());
});

test("an agent explains itself, makes triggers, and goes away", async () => {
  const agent = client.agent("whole");
  await agent.put({ turns: "elsewhere" });
  const now = await agent.explain();
  assert.match(now.sentence, /^At rest/);
  const then = await agent.explain({ at: 1, boundary: "run_loop_idle" });
  assert.deepEqual([then.decision.boundary, then.head.seq], ["run_loop_idle", 1]);
  assert.notDeepEqual(now.head, then.head);
  assert.ok((await agent.whyNot("StartModelTurn")).ways.length > 0);

  const made = await agent.makeTrigger({
    external_trigger_id: "ci/1",
    delivery_mode: "enqueue_message",
  });
  assert.match(made.path, /^\/in\/wkt_/);
  const rotated = await agent.rotateTrigger("ci/1");
  assert.notEqual(rotated.token, made.token);
  assert.deepEqual(
    (await agent.triggers()).map((it) => it.external_trigger_id),
    ["ci/1"],
  );
  const delivery = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
  assert.equal((await fetch(served.url + rotated.path, delivery)).status, 202);
  assert.equal((await agent.openTurn({ wait: 20 })).message.kind, "callback_event");
  assert.ok((await client.openTurns()).includes("whole"));
  assert.equal(await agent.revokeTrigger("ci/1"), undefined);
  assert.deepEqual(await agent.triggers(), []);

  await agent.control("stop");
  assert.equal(await agent.putAway(), undefined);
  assert.ok(!(await collected(client.agents())).some((it) => it.agent_id === "whole"));
  assert.deepEqual(await client.ask("GET /v1/hooks"), []);
  assert.match(await client.ask("GET /metrics"), /^# HELP /m);
});

test("each refusal is a problem with its status, code, sentence and place", async () => {
  const agent = client.agent("refused");
  await agent.put({ turns: "elsewhere" });
  const reader = new WakefulClient({ url: served.url, token: served.tokenFor("read") });
  const nobody = new WakefulClient({ url: served.url });
  const elsewhere = new WakefulClient({
    url: "http://127.0.0.1:9",
    fetch: async () => new Response("<h1>Bad Gateway</h1>", { status: 502 }),
  });
  for (const [call, status, code] of [
    [() => client.agent("nobody").summary(), 404, "no_such_agent"],
    [() => collected(client.agent("nobody").entries()), 404, "no_such_agent"],
    [() => collected(client.agent("nobody").turns()), 404, "no_such_agent"],
    [() => nobody.agent("refused").summary(), 401, "unauthorized"],
    [() => reader.agent("refused").say("hello"), 403, "forbidden"],
    [() => agent.say(7), 400, "malformed"],
    [() => agent.openTurn({ wait: Number.NaN }), 400, "malformed"],
    [() => agent.report({ fact: "nothing_happened" }), 422, "malformed"],
    [() => collected(client.agents({ limit: 0 })), 400, "malformed"],
    [() => elsewhere.agent("refused").summary(), 502, "not_wakeful"],
  ]) {
    const problem = await call().then(
      () => assert.fail(code),
      (why) => why,
    );
    assert.ok(problem instanceof WakefulProblem, inspect(problem));
    assert.deepEqual([problem.status, problem.code], [status, code]);
    assert.ok(problem.detail.length > 20 && problem.message === problem.detail);
  }
  const unread = await agent.say(7).catch((why) => why);
  assert.deepEqual([unread.place.line, typeof unread.place.column], [1, "number"]);
  await assert.rejects(
    new WakefulClient({ url: "http://127.0.0.1:9" }).agent("a").summary(),
    TypeError,
  );
  await assert.rejects(
    collected(new WakefulClient({ url: "http://127.0.0.1:9" }).agent("a").entries()),
    TypeError,
  );
  for (const id of ["", ".", ".."]) {
    await assert.rejects(client.agent(id).summary(), /no agent of a server has the id/);
  }
});

test("a token is in the header `Authorization` and nowhere else", async () => {
  const token = served.tokenFor("read");
  const urls = [];
  const spying = new WakefulClient({
    url: `${served.url}/`,
    token,
    fetch: (input, init) => {
      urls.push(
        String(input),
        ...[...init.headers].filter(([name]) => name !== "authorization").flat(),
      );
      assert.equal(init.headers.get("authorization"), `Bearer ${token}`);
      return fetch(input, init);
    },
  });
  await collected(spying.agents());
  await collected(spying.agent("refused").entries({ until: "head", after: 1 }));
  const shown = inspect([spying, spying.agent("refused")], { depth: 9 }) + JSON.stringify(spying);
  assert.ok(urls.length > 3 && !`${urls} ${shown}`.includes(token));
  for (const wrong of [`${token}\n`, `${token}ä`, ""]) {
    const why = await (async () => new WakefulClient({ url: served.url, token: wrong }))().catch(
      (it) => it,
    );
    assert.ok(why instanceof TypeError && !why.message.includes(token.slice(0, 12)), why.message);
  }
});

test("a server below a path of a proxy is reached", async () => {
  const asked = [];
  const fetch = async (input) => (
    asked.push(String(input)),
    Response.json({ agents: [], driven: [] })
  );
  await collected(
    new WakefulClient({ url: "https://host.example/wakeful/", fetch }).agents({ limit: 3 }),
  );
  assert.deepEqual(asked, ["https://host.example/wakeful/v1/agents?limit=3"]);
});

/** A host that runs the turns of one agent. */
const HOST = `
import { WakefulClient } from "@wakeful/scheduler/client";

const { URL_OF_SERVER: url, TOKEN: token } = process.env;
const agent = new WakefulClient({ url, token }).agent("hosted");
await agent.control("restart"); // the turn of a process before is tried again

async function think(text) {
  if (text === "crash" && process.argv[2] === "first") {
    process.kill(process.pid, "SIGKILL");
  }
  return text.toUpperCase();
}

const leaving = new AbortController();
process.on("SIGTERM", () => leaving.abort());
try {
  for await (const { run_id, message } of agent.turns({ signal: leaving.signal })) {
    const answer = await think(message.body.text);
    await agent.report({
      fact: "turn_terminal",
      run_id,
      kind: "completed",
      last_assistant_message: answer,
    });
  }
} catch (why) {
  if (!leaving.signal.aborted) throw why;
}
`;

test("a host of 30 lines runs turns, and goes on after it was killed", async () => {
  assert.ok(HOST.trim().split("\n").length <= 30);
  const agent = client.agent("hosted");
  await agent.put({ turns: "elsewhere" });
  const place = await project("client-host", { "host.mjs": HOST });
  const env = { ...process.env, URL_OF_SERVER: served.url, TOKEN: served.token };
  const run = (life) => {
    const host = spawn(process.execPath, ["host.mjs", life], { cwd: fileURLToPath(place), env });
    let err = "";
    host.stderr.on("data", (bytes) => (err += bytes));
    const ended = new Promise((resolve) => {
      host.once("close", (code, signal) => resolve([code ?? signal, err]));
    });
    return { host, ended };
  };
  const first = run("first");
  for (const text of ["one", "two", "three"]) {
    const heard = await agent.say(text, { wait: 30 });
    assert.equal(heard.turn?.last_assistant_message, text.toUpperCase());
  }
  const unanswered = await agent.say("crash", { key: "c" });
  assert.deepEqual(await first.ended, ["SIGKILL", ""]);
  assert.equal((await agent.openTurn()).message.id, unanswered.message_id);
  const second = run("second");
  const heard = await agent.say("crash", { key: "c", wait: 30 });
  assert.equal(heard.turn?.last_assistant_message, "CRASH");
  second.host.kill("SIGTERM");
  assert.deepEqual(await second.ended, [0, ""]);
});

test("a turn is yielded once while it is open", async () => {
  const agent = client.agent("once");
  await agent.put({ turns: "elsewhere" });
  await agent.say("first");
  await agent.say("second");
  const turns = agent.turns();
  const { value: first } = await turns.next();
  assert.equal(first.message.body.text, "first");
  const next = turns.next();
  assert.equal(await Promise.race([next, sleep(1_500)]), undefined);
  await agent.report({ fact: "turn_terminal", run_id: first.run_id, kind: "completed" });
  assert.equal((await next).value.message.body.text, "second");
  await turns.return();
});
