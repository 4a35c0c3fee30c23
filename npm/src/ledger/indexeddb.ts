/**
 * A ledger in IndexedDB, for pages and for workers of every kind.
 *
 * @packageDocumentation
 */
import type { AsyncLedger } from "../async-host.js";
import { WakefulError } from "../error.js";
import type { Head } from "../payloads.js";
import { LedgerConflict } from "./memory.mjs";

const STORE = "entries";
const START = "0".repeat(64);

/**
 * A ledger in its own database. Several tabs may have it open; a later writer gets a
 * `LedgerConflict`.
 */
export class IndexedDbLedger implements AsyncLedger {
  readonly #database: IDBDatabase;

  /** Takes an open database from `openIndexedDbLedger`. */
  constructor(database: IDBDatabase) {
    this.#database = database;
    // Close it if another tab deletes the database, or if a newer version of this program changes
    // it.
    database.onversionchange = () => database.close();
  }

  /**
   * Stores a batch after the entry `expected`, all or nothing, on the disk when the promise is
   * fulfilled.
   */
  append(expected: Head, batch: string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      // By default a browser may report a transaction complete before it is on the disk (contract
      // 3.2).
      const transaction = this.#database.transaction(STORE, "readwrite", { durability: "strict" });
      const store = transaction.objectStore(STORE);
      let conflict: LedgerConflict | undefined;
      transaction.oncomplete = () => resolve();
      transaction.onabort = () =>
        reject(
          conflict ?? transaction.error ?? new Error("the browser has aborted the transaction"),
        );
      const newest = store.openCursor(null, "prev");
      newest.onsuccess = () => {
        const seq = Number(newest.result?.key ?? 0);
        // A line ends with its hash: `..., "chain":"<64 digits>"}`.
        const chain = newest.result === null ? START : String(newest.result.value).slice(-66, -2);
        if (expected.seq !== seq || expected.chain !== chain) {
          conflict = new LedgerConflict(seq);
          transaction.abort();
          return;
        }
        for (const [index, line] of batch.entries()) {
          store.add(line, seq + index + 1);
        }
      };
    });
  }

  /** Up to `limit` lines after the position `after`, in order. */
  read(after: number, limit: number): Promise<string[]> {
    if (limit === 0) {
      // IndexedDB reads 0 as "no limit".
      return Promise.resolve([]);
    }
    return new Promise((resolve, reject) => {
      const transaction = this.#database.transaction(STORE, "readonly");
      const page: IDBRequest<string[]> = transaction
        .objectStore(STORE)
        .getAll(IDBKeyRange.lowerBound(after, true), limit);
      page.onsuccess = () => resolve(page.result);
      transaction.onabort = () =>
        reject(transaction.error ?? new Error("the browser has aborted the transaction"));
    });
  }

  /** Closes the database after the pending transactions. */
  close(): void {
    this.#database.close();
  }
}

/**
 * Opens the ledger of an agent. A batch is on the disk when the promise of `append` is fulfilled.
 *
 * @throws A `WakefulError` with the code "cannot_open" if there is no IndexedDB, or if the browser
 * refuses it.
 */
export function openIndexedDbLedger(agentId: string): Promise<IndexedDbLedger> {
  return new Promise((resolve, reject) => {
    const refuse = (why: string, cause?: unknown) =>
      reject(new WakefulError("cannot_open", why, { cause }));
    if (globalThis.indexedDB === undefined) {
      refuse("this place has no IndexedDB: use it in a browser");
      return;
    }
    const opening = indexedDB.open(`wakeful/${agentId}`, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onsuccess = () => resolve(new IndexedDbLedger(opening.result));
    opening.onerror = () =>
      refuse(
        `the browser does not open the ledger: ${opening.error?.message ?? "no reason given"}`,
        opening.error,
      );
  });
}
