// A ledger in memory, the smallest implementation of `Ledger`. It is JavaScript, so that it runs
// without a build.

/**
 * The error of a ledger if a batch does not follow its newest entry, because another writer was
 * first.
 */
export class LedgerConflict extends Error {
  /** The scheduler recognises the error by this code. */
  code = /** @type {const} */ ("conflict");

  /** @param {number} found the position where the ledger ends */
  constructor(found) {
    super(`the ledger ends at entry ${found}`);
    this.found = found;
  }
}

/**
 * Keeps the lines of one agent while the program runs.
 *
 * @implements {Ledger}
 */
export class MemoryLedger {
  /**
   * The stored lines, oldest first.
   *
   * @type {string[]}
   */
  lines = [];
  #chain = "0".repeat(64);

  /**
   * Stores a batch after the entry `expected`, all or nothing.
   *
   * @param {Head} expected
   * @param {string[]} batch
   */
  append(expected, batch) {
    if (expected.seq !== this.lines.length || expected.chain !== this.#chain) {
      throw new LedgerConflict(this.lines.length);
    }
    const newest = batch.at(-1);
    if (newest === undefined) {
      return;
    }
    this.lines.push(...batch);
    // A line ends with its hash: `..., "chain":"<64 digits>"}`.
    this.#chain = newest.slice(-66, -2);
  }

  /**
   * Up to `limit` lines after the position `after`, in order.
   *
   * @param {number} after
   * @param {number} limit
   * @returns {string[]}
   */
  read(after, limit) {
    return this.lines.slice(after, after + limit);
  }
}

/**
 * @typedef {import("../guest/wakeful_web.js").Ledger} Ledger
 * @typedef {import("../payloads.js").Head} Head
 */
