// Runs the examples as a newcomer would: in a copy, with the package from its tarball.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import test from "node:test";

import { openBrowser } from "./browser.mjs";
import { node, project, root, script } from "./package.mjs";

test("examples/node keeps its ledger in a file, and the second run continues", async () => {
  const folder = await project("example-node", "examples/node");
  const first = await node(folder, "agent.mjs");
  assert.match(
    first,
    /^opened at entry 2\nturn node-example:run-8 on "visit number 1"\nStartModelTurn \(OperatorPrompt\)\n/,
  );
  assert.match(first, /\nSleep \(no_pending_scheduler_facts\)\nat rest at entry \d+\n$/);
  const second = await node(folder, "agent.mjs");
  const [end] = first.match(/\d+(?=\n$)/);
  assert.match(second, new RegExp(`^opened at entry ${Number(end) + 1}\\n.*visit number 2`, "s"));
});

test("examples/vite is built, and its page shows the decisions of the agent in its worker, also after a reload", async () => {
  const folder = await project("example-vite", "examples/vite");
  await script(folder, "build");
  const browser = await openBrowser({ example: new URL("dist/", folder) });
  try {
    const page = await browser.tab("example/");
    const lines = page.locator("li");
    await lines.filter({ hasText: "opened at entry 2" }).waitFor();
    await page.click("button");
    await lines.filter({ hasText: "StartModelTurn (OperatorPrompt)" }).waitFor();
    await lines.filter({ hasText: "Sleep (no_pending_scheduler_facts)" }).last().waitFor();
    await page.reload();
    await lines.filter({ hasText: /^opened at entry 1[0-9]$/ }).waitFor();
    assert.deepEqual(browser.troubles, []);
  } finally {
    await browser.close();
  }
});

/** A free port. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Starts workerd with the example's configuration on another port. Returns the function that ends
 * it.
 */
async function serve(folder, port) {
  const config = new URL("workerd.capnp", folder);
  const text = await readFile(config, "utf8");
  await writeFile(config, text.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`));
  const program = fileURLToPath(new URL("npm/node_modules/.bin/workerd", root));
  const workerd = spawn(program, ["serve", "workerd.capnp", "--experimental"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise((resolve) => workerd.once("close", resolve));
  let printed = "";
  workerd.stderr.on("data", (bytes) => (printed += bytes));
  for (let tries = 0; ; tries += 1) {
    const isThere = await fetch(`http://127.0.0.1:${port}/`, { method: "HEAD" }).then(
      () => true,
      () => false,
    );
    if (isThere) {
      break;
    }
    if (tries === 100 || workerd.exitCode !== null) {
      workerd.kill();
      throw new Error(`workerd does not answer: ${printed}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return async () => {
    workerd.kill("SIGKILL");
    await ended;
  };
}

test("examples/workerd decides in a Durable Object of the real workerd, and continues after workerd was killed", async () => {
  const folder = await project("example-workerd", "examples/workerd");
  await script(folder, "build");
  await mkdir(new URL("objects/", folder));
  const port = await freePort();
  const say = async (text) => {
    const response = await fetch(`http://127.0.0.1:${port}/agent-1`, {
      method: "POST",
      body: text,
    });
    assert.equal(response.status, 200, await response.clone().text());
    return response.json();
  };
  const end = await serve(folder, port);
  const first = await say("look at the build").finally(end);
  assert.deepEqual(first.decisions, ["StartModelTurn", "Sleep"]);
  const endAgain = await serve(folder, port);
  const second = await say("and again").finally(endAgain);
  assert.equal(second.decisions[0], "StartModelTurn");
  assert.ok(second.head > first.head);
});
