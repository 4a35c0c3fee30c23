// `wakeful serve` as a process, and a proxy in front of it that cuts and changes what it passes on.
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { root } from "./package.mjs";

function program() {
  const path = fileURLToPath(new URL("target/debug/wakeful", root));
  if (!existsSync(path)) {
    throw new Error(`${path} is missing: build it with \`cargo build -p wakeful\``);
  }
  return path;
}

/** A server over a store of its own. */
export class Served {
  /** Its first token, which may do everything. */
  token;
  #folder;
  #process;
  #tokens = 0;

  static async start() {
    const served = new Served();
    served.#folder = await mkdtemp(join(tmpdir(), "wakeful-client-"));
    await served.again();
    return served;
  }

  get #ledger() {
    return join(this.#folder, "agents.sqlite");
  }

  /** Starts it at a free port. */
  async again(...more) {
    const args = ["serve", "--no-socket", "--listen", "127.0.0.1:0", "--ledger", this.#ledger];
    this.#process = spawn(program(), [...args, ...more], { stdio: ["ignore", "pipe", "pipe"] });
    let printed = "";
    const said = (stream) => stream.setEncoding("utf8").on("data", (text) => (printed += text));
    said(this.#process.stdout);
    said(this.#process.stderr);
    const has = (pattern) => printed.match(pattern)?.[0];
    // The last line of each start.
    while (!has(/\/turn\n|wakeful token list/)) {
      if (this.#process.exitCode !== null) {
        throw new Error(`the server ended: ${printed}`);
      }
      await sleep(10);
    }
    this.url = has(/http:\/\/\S+/);
    this.token ??= has(/wks_\w+/);
    while (!(await fetch(`${this.url}/readyz`)).ok) {
      await sleep(10);
    }
  }

  /** The stored lines of an agent, without a client. */
  async lines(id) {
    const headers = { authorization: `Bearer ${this.token}` };
    const url = `${this.url}/v1/agents/${id}/entries?until=head`;
    const text = await (await fetch(url, { headers })).text();
    return text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
  }

  /** Makes a token with one scope. */
  tokenFor(scope) {
    this.#tokens += 1;
    const name = `${scope}-${this.#tokens}`;
    const args = ["token", "create", name, "--scope", scope, "--ledger", this.#ledger];
    return execFileSync(program(), args, { encoding: "utf8", stdio: "pipe" }).match(/wks_\w+/)[0];
  }

  /** Ends it as a crash does. */
  async kill() {
    const ended = new Promise((resolve) => this.#process.once("close", resolve));
    this.#process.kill("SIGKILL");
    await ended;
  }

  async end() {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/**
 * A TCP proxy. `pass(connection, bytes)` says which bytes are passed on to the client, and whether
 * the connection is cut after them; `connection` is an object to keep things in.
 */
export class Proxy {
  /** What clients have sent. */
  asked = "";
  #server;
  #target;

  static async before(url, pass) {
    const proxy = new Proxy();
    proxy.#target = url;
    proxy.#server = createServer((client) => proxy.#connect(client, pass));
    proxy.#server.listen(0, "127.0.0.1");
    await new Promise((resolve) => proxy.#server.once("listening", resolve));
    proxy.url = `http://127.0.0.1:${proxy.#server.address().port}`;
    return proxy;
  }

  /** Passes on to another server from now on. */
  retarget(url) {
    this.#target = url;
  }

  #connect(client, pass) {
    const { hostname, port } = new URL(this.#target);
    const server = connect(Number(port), hostname);
    const connection = {};
    const end = () => {
      client.destroy();
      server.destroy();
    };
    client.on("error", end).on("close", end);
    server.on("error", end).on("close", () => client.end());
    client.on("data", (bytes) => {
      this.asked += bytes.toString("latin1");
      server.write(bytes);
    });
    server.on("data", (bytes) => {
      const { passed, cut } = pass(connection, bytes);
      // The client gets what came before the cut.
      client.write(passed, () => cut && end());
      if (cut) {
        server.removeAllListeners("data");
      }
    });
  }

  async end() {
    this.#server.close();
  }
}

/** Cuts `count` connections, each after a random number of bytes below `most`. */
export function cutting(random, { count, most }) {
  const state = {
    /** The connections that were cut. */
    cuts: 0,
    pass(connection, bytes) {
      if (state.cuts === count) {
        return { passed: bytes, cut: false };
      }
      connection.left ??= Math.floor(random() * most);
      if (bytes.length < connection.left) {
        connection.left -= bytes.length;
        return { passed: bytes, cut: false };
      }
      state.cuts += 1;
      return { passed: bytes.subarray(0, connection.left), cut: true };
    },
  };
  return state;
}

/** A random number from 0 to 1, the same ones for the same seed (mulberry32). */
export function randomFrom(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let bits = Math.imul(seed ^ (seed >>> 15), seed | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What an asynchronous iterator yields, up to a number. */
export async function collected(items, most = Infinity) {
  const all = [];
  for await (const item of items) {
    all.push(item);
    if (all.length === most) {
      break;
    }
  }
  return all;
}

export function sleep(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
