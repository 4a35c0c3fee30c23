// A ledger in memory: the smallest one that keeps the contract of `Ledger`.

/** Where a batch is expected after an entry that is not the newest. */
export class LedgerConflict extends Error {
  /** @param {number} found the position where the ledger ends */
  constructor(found) {
    super(`the ledger ends at entry ${found}`);
    this.code = "conflict";
    this.found = found;
  }
}

/** Keeps the lines of one agent. */
export class MemoryLedger {
  /** @type {string[]} */
  lines = [];
  #chain = "0".repeat(64);

  /**
   * @param {{ seq: number, chain: string }} expected
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
    // A line ends with its chain: `..., "chain":"<64 digits>"}`.
    this.#chain = newest.slice(-66, -2);
  }

  /**
   * @param {number} after
   * @param {number} limit
   * @returns {string[]}
   */
  read(after, limit) {
    return this.lines.slice(after, after + limit);
  }
}
