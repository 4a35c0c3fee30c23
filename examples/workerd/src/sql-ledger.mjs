// A ledger in the SQLite of a Durable Object. It is synchronous, and writes are durable before the
// answer to a request leaves the object.
import { LedgerConflict } from "@wakeful/scheduler";

const START = "0".repeat(64);

export class SqlLedger {
  #storage;

  constructor(storage) {
    this.#storage = storage;
    storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS entries (seq INTEGER PRIMARY KEY, line TEXT NOT NULL)",
    );
  }

  append(expected, batch) {
    this.#storage.transactionSync(() => {
      const [newest] = this.#storage.sql
        .exec("SELECT seq, line FROM entries ORDER BY seq DESC LIMIT 1")
        .toArray();
      // A line ends with its hash: `..., "chain":"<64 digits>"}`.
      if (
        expected.seq !== (newest?.seq ?? 0) ||
        expected.chain !== (newest?.line.slice(-66, -2) ?? START)
      ) {
        throw new LedgerConflict(newest?.seq ?? 0);
      }
      batch.forEach((line, index) =>
        this.#storage.sql.exec("INSERT INTO entries VALUES (?, ?)", expected.seq + index + 1, line),
      );
    });
  }

  read(after, limit) {
    const rows = this.#storage.sql.exec(
      "SELECT line FROM entries WHERE seq > ? ORDER BY seq LIMIT ?",
      after,
      limit,
    );
    return [...rows].map(({ line }) => line);
  }
}
