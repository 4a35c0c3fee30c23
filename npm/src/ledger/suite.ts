/**
 * Tests for a ledger of your own: whether it does what a scheduler relies on.
 *
 * @packageDocumentation
 */
import type { AsyncLedger } from "../async-host.js";
import type { Head } from "../payloads.js";

/** A rule that a ledger breaks. */
export class LedgerFault extends Error {
  override readonly name = "LedgerFault";
  /** The rule. */
  readonly law: string;

  constructor(law: string, does: string, options?: ErrorOptions) {
    super(`${law}: this ledger ${does}`, options);
    this.law = law;
  }
}

/** A ledger under test. If it has `close`, it is closed after its last use. */
export type Asked = AsyncLedger & { close?(): void | Promise<void> };

/** Options of the tests. */
export interface CheckOptions {
  /**
   * Only one instance may have a ledger open, as with a file. Rules about two instances are not
   * tested, and each instance is closed before the next one is opened.
   */
  exclusive?: boolean;
}

/**
 * Tests everything that a scheduler relies on. Two rules cannot be tested by a program: a batch is
 * on the disk when `append` returns, and after a crash a batch is complete or absent.
 *
 * @param open opens the ledger of an agent: empty for the first call with this agent, and with the
 * appended lines for every later call.
 * @throws {@link LedgerFault} The first rule that the ledger breaks.
 */
export async function checkLedger(
  open: (agentId: string) => Asked | Promise<Asked>,
  { exclusive = false }: CheckOptions = {},
): Promise<void> {
  await requireNew(open);
  for (const [number, { law, ofTwo = false, holds }] of LAWS.entries()) {
    if (ofTwo && exclusive) {
      continue;
    }
    const agents = new Agents(async (who) => open(`suite-${number}-${who}`), exclusive);
    try {
      await holds((who = "a") => agents.open(who));
    } catch (error) {
      const does = error instanceof Otherwise ? error.message : `throws ${told(error)}`;
      throw new LedgerFault(law, does, { cause: error });
    } finally {
      await agents.close();
    }
  }
}

/** Checks that no earlier run of the tests wrote to the store: its lines would look like faults. */
async function requireNew(open: (agentId: string) => Asked | Promise<Asked>): Promise<void> {
  for (const number of LAWS.keys()) {
    const agentId = `suite-${number}-a`;
    // A ledger that cannot be opened or read is a fault of the rule that needs it.
    const held = await (async () => {
      const ledger = await open(agentId);
      const lines: unknown = await (async () => ledger.read(0, 1))().catch(() => []);
      await ledger.close?.();
      return Array.isArray(lines) && lines.length > 0;
    })().catch(() => false);
    // The first rule writes nothing: it says itself that a new ledger is not empty.
    if (held && number === 0) {
      return;
    }
    if (held) {
      throw new LedgerFault(
        "the suite gets a new, empty store each time",
        `has lines of \`${agentId}\` already`,
      );
    }
  }
}

/** The rules, each with its test. */
interface Law {
  law: string;
  /** Whether it is about two instances. */
  ofTwo?: boolean;
  holds(open: (who?: string) => Promise<Examined>): Promise<void>;
}

const LAWS: Law[] = [
  {
    law: "a ledger is empty before the first append",
    holds: async (open) => (await open()).gives([]),
  },
  {
    law: "lines are read as they were appended, to the character and in order",
    holds: async (open) => {
      const ledger = await open();
      await ledger.gives(
        await ledger.filled([
          ["one"],
          ["two", "three"],
          ["é🦀\u2028", "a\nb\r\n\tc\0\\\"'", "%s ${x} {0} -- ;", ""],
        ]),
      );
    },
  },
  {
    law: "a batch may have thousands of lines, and a line a megabyte",
    holds: async (open) => {
      const ledger = await open();
      await ledger.gives(
        await ledger.filled([Array.from({ length: 3000 }, () => ""), ["long ".repeat(200_000)]]),
      );
    },
  },
  {
    law: "a ledger that is opened again has what was appended",
    holds: async (open) => {
      const lines = await (await open()).filled([["one"], ["two"]]);
      await (await open()).gives(lines);
    },
  },
  {
    law: "`read` returns the lines after a position, at most as many as the limit, and none at the end",
    holds: async (open) => {
      const ledger = await open();
      const lines = await ledger.filled([
        ["1", "2"],
        ["3", "4", "5"],
      ]);
      for (let after = 0; after <= lines.length + 1; after += 1) {
        // From 0, because IndexedDB reads a limit of 0 as no limit.
        for (let limit = 0; limit <= lines.length + 1; limit += 1) {
          await ledger.gives(lines.slice(after, after + limit), after, limit);
        }
      }
    },
  },
  {
    law: "a batch after another line than the last is a conflict that names the end of the ledger and stores nothing",
    holds: async (open) => {
      const ledger = await open();
      const lines = await ledger.filled([["one"], ["two", "three"]]);
      await ledger.refuses(headOf([]), 3, "the beginning");
      await ledger.refuses(headOf(lines.slice(0, 1)), 3, "a line before the last");
      await ledger.refuses({ ...headOf(lines), seq: 4 }, 3, "a line that is not there yet");
      await ledger.refuses(
        { seq: 3, chain: chainOf("another history") },
        3,
        "the last line of another history of the same length",
      );
      await ledger.gives(lines);
    },
  },
  {
    law: "of two instances, each reads what the other appended, and the later append is refused",
    ofTwo: true,
    holds: async (open) => {
      const [first, second] = [await open(), await open()];
      const lines = await first.filled([["one"]]);
      await second.gives(lines);
      await second.refuses(headOf([]), 1, "the beginning");
      const more = batchAfter(lines, ["two"]);
      await second.takes(lines, more);
      await first.gives([...lines, ...more]);
    },
  },
  {
    law: "a ledger has only the lines of its own agent",
    holds: async (open) => {
      const ada = await (await open("a")).filled([["of a"]]);
      const bob = await (await open("b")).filled([["of b"], ["and another"]]);
      await (await open("a")).gives(ada);
      await (await open("b")).gives(bob);
    },
  },
];

/** What a ledger does instead. */
class Otherwise extends Error {}

/** The ledgers of the agents in one test. */
class Agents {
  readonly #open: (who: string) => Promise<Asked>;
  readonly #exclusive: boolean;
  #opened: Asked[] = [];

  constructor(open: (who: string) => Promise<Asked>, exclusive: boolean) {
    this.#open = open;
    this.#exclusive = exclusive;
  }

  async open(who: string): Promise<Examined> {
    if (this.#exclusive) {
      await this.close();
    }
    const ledger = await this.#open(who);
    this.#opened.push(ledger);
    return new Examined(ledger);
  }

  async close(): Promise<void> {
    for (const ledger of this.#opened.splice(0)) {
      await ledger.close?.();
    }
  }
}

/** A ledger under test, with the words for a failure. */
class Examined {
  readonly #ledger: Asked;

  constructor(ledger: Asked) {
    this.#ledger = ledger;
  }

  /** Expects these lines. */
  async gives(due: string[], after = 0, limit = 1_000_000): Promise<void> {
    const found = await this.#ledger.read(after, limit);
    // A page may be shorter than asked for, if something is in it.
    while (found.length > 0 && found.length < due.length) {
      const more = await this.#ledger.read(after + found.length, limit - found.length);
      if (more.length === 0) {
        break;
      }
      found.push(...more);
    }
    if (found.length !== due.length || found.some((line, index) => line !== due[index])) {
      throw new Otherwise(
        `gives ${several(found)} instead of ${several(due)}, asked for ${limit} after ${after}`,
      );
    }
  }

  /** Expects that a batch after these lines is stored. */
  async takes(lines: string[], batch: string[]): Promise<void> {
    try {
      await this.#ledger.append(headOf(lines), batch);
    } catch (error) {
      throw new Otherwise(`throws ${told(error)}, given a batch after its last line`, {
        cause: error,
      });
    }
  }

  /** Expects that a batch after this head is refused, because the ledger ends elsewhere. */
  async refuses(expected: Head, ends: number, what: string): Promise<void> {
    const given = `given a batch after ${what}`;
    const conflict = `a conflict at entry ${ends}`;
    try {
      await this.#ledger.append(expected, [
        `{"seq":${expected.seq + 1},"text":"it came second","chain":"${chainOf("second")}"}`,
      ]);
    } catch (error) {
      const { code, found } = Object(error) as { code?: unknown; found?: unknown };
      if (error instanceof Error && code === "conflict" && found === ends) {
        return;
      }
      throw new Otherwise(
        `throws ${code === "conflict" ? `a conflict at entry ${found}` : told(error)} instead of ${conflict}, ${given}`,
        { cause: error },
      );
    }
    throw new Otherwise(`stores it instead of throwing ${conflict}, ${given}`);
  }

  /** Expects that these batches are stored, one after the other. Returns their lines. */
  async filled(batches: string[][]): Promise<string[]> {
    const lines: string[] = [];
    for (const texts of batches) {
      const batch = batchAfter(lines, texts);
      await this.takes(lines, batch);
      lines.push(...batch);
    }
    return lines;
  }
}

/** Lines that follow others. A ledger reads only the hash at the end of a line. */
function batchAfter(lines: string[], texts: string[]): string[] {
  return texts.map((text, index) => {
    const seq = lines.length + index + 1;
    return `{"seq":${seq},"text":${JSON.stringify(text)},"chain":"${chainOf(`${seq} ${text.slice(0, 20)}`)}"}`;
  });
}

function headOf(lines: string[]): Head {
  return { seq: lines.length, chain: lines.at(-1)?.slice(-66, -2) ?? "0".repeat(64) };
}

/** 64 hexadecimal digits that depend on the text. */
function chainOf(text: string): string {
  const digits = [...new TextEncoder().encode(text)].map((byte) =>
    byte.toString(16).padStart(2, "0"),
  );
  return digits.join("").slice(0, 64).padStart(64, "f");
}

function several(lines: string[]): string {
  const first = lines[0] === undefined ? "" : `\`${lines[0].slice(0, 200)}\``;
  return ["no line", `1 line ${first}`][lines.length] ?? `${lines.length} lines from ${first} on`;
}

function told(error: unknown): string {
  return error instanceof Error
    ? `\`${error.message}\``
    : `a value that is not an Error: ${String(error)}`;
}
