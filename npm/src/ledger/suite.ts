/**
 * Whether a ledger of your own does what a scheduler relies on, for a test of yours.
 *
 * @packageDocumentation
 */
import type { AsyncLedger } from "../async-host.js";
import type { Head } from "../payloads.js";

/** What a ledger does not do as it must. */
export class LedgerFault extends Error {
  override readonly name = "LedgerFault";
  /** What every ledger does. */
  readonly law: string;

  constructor(law: string, does: string, options?: ErrorOptions) {
    super(`${law}: this ledger ${does}`, options);
    this.law = law;
  }
}

/** A ledger that is asked; one that has `close` is closed when nothing more is asked of it. */
export type Asked = AsyncLedger & { close?(): void | Promise<void> };

/** How a ledger is asked. */
export interface CheckOptions {
  /**
   * Only one may have a ledger open, as with a file: what two would do is not asked, and each is
   * closed before the next is opened.
   */
  exclusive?: boolean;
}

/**
 * Asks a ledger for everything that a scheduler relies on. What no program can ask is left to its
 * author: that a batch is on the disk when
 * `append` is done, and that one which a dying process was storing is there whole or not at all.
 *
 * @param open opens the ledger of an agent: empty when the agent is named for the first time, and with what was appended each time after it.
 * @throws {@link LedgerFault} The first thing that the ledger does otherwise.
 */
export async function checkLedger(
  open: (agentId: string) => Asked | Promise<Asked>,
  { exclusive = false }: CheckOptions = {},
): Promise<void> {
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

/** What holds of a ledger, and who asks whether it does. */
interface Law {
  law: string;
  /** It is about two who have the ledger open. */
  ofTwo?: boolean;
  holds(open: (who?: string) => Promise<Examined>): Promise<void>;
}

const LAWS: Law[] = [
  {
    law: "nothing is in a ledger before something is appended",
    holds: async (open) => (await open()).gives([]),
  },
  {
    law: "lines come back as they were appended, to the character and in order",
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
    law: "who opens a ledger again finds what was appended",
    holds: async (open) => {
      const lines = await (await open()).filled([["one"], ["two"]]);
      await (await open()).gives(lines);
    },
  },
  {
    law: "`read` gives what is after a position, as many lines as it is asked for, and none at the end",
    holds: async (open) => {
      const ledger = await open();
      const lines = await ledger.filled([
        ["1", "2"],
        ["3", "4", "5"],
      ]);
      for (let after = 0; after <= lines.length + 1; after += 1) {
        for (let limit = 0; limit <= lines.length + 1; limit += 1) {
          await ledger.gives(lines.slice(after, after + limit), after, limit);
        }
      }
    },
  },
  {
    law: "a batch after another line than the last is a conflict, which says where the ledger ends and stores nothing",
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
    law: "of two who have a ledger open, each finds what the other appended, and the second to append is refused",
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
    law: "a ledger has the lines of its own agent alone",
    holds: async (open) => {
      const ada = await (await open("a")).filled([["of a"]]);
      const bob = await (await open("b")).filled([["of b"], ["and another"]]);
      await (await open("a")).gives(ada);
      await (await open("b")).gives(bob);
    },
  },
];

/** What a ledger does instead of what it must. */
class Otherwise extends Error {}

/** The ledgers of the agents of one law. */
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

/** A ledger, and what is said of it where it does otherwise. */
class Examined {
  readonly #ledger: Asked;

  constructor(ledger: Asked) {
    this.#ledger = ledger;
  }

  /** It gives these lines. */
  async gives(due: string[], after = 0, limit = 1_000_000): Promise<void> {
    const found = await this.#ledger.read(after, limit);
    if (found.length !== due.length || found.some((line, index) => line !== due[index])) {
      throw new Otherwise(
        `gives ${several(found)} instead of ${several(due)}, asked for ${limit} after ${after}`,
      );
    }
  }

  /** It takes a batch after these lines. */
  async takes(lines: string[], batch: string[]): Promise<void> {
    try {
      await this.#ledger.append(headOf(lines), batch);
    } catch (error) {
      throw new Otherwise(`throws ${told(error)}, given a batch after its last line`, {
        cause: error,
      });
    }
  }

  /** It refuses a batch after this head, since it ends elsewhere. */
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

  /** It takes these batches, one after the other; their lines. */
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

/** Lines that follow others: a ledger reads nothing of one but the chain with which it ends. */
function batchAfter(lines: string[], texts: string[]): string[] {
  return texts.map((text, index) => {
    const seq = lines.length + index + 1;
    return `{"seq":${seq},"text":${JSON.stringify(text)},"chain":"${chainOf(`${seq} ${text.slice(0, 20)}`)}"}`;
  });
}

function headOf(lines: string[]): Head {
  return { seq: lines.length, chain: lines.at(-1)?.slice(-66, -2) ?? "0".repeat(64) };
}

/** 64 hexadecimal digits of a text; other texts have others. */
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
  return error instanceof Error ? `\`${error.message}\`` : `what is no Error: ${String(error)}`;
}
