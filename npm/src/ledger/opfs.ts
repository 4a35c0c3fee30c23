/**
 * A ledger in the browser's own file system (OPFS), for dedicated workers.
 *
 * @packageDocumentation
 */
import { WakefulError } from "../error.js";
import { LogLedger, type SyncFile } from "./log.js";

/** How an OPFS ledger is opened. */
export interface OpfsOptions {
  /** The folder of the ledgers; `wakeful` in the root of the origin without it. */
  directory?: FileSystemDirectoryHandle;
  /** Waits until whoever holds the ledger lets it go, instead of refusing. */
  wait?: boolean;
  /** Ends the waiting. */
  signal?: AbortSignal;
}

/**
 * A ledger in one file of the origin, which this worker alone may write until it closes it, or
 * ends.
 */
export class OpfsLedger extends LogLedger {
  readonly #release: () => void;

  /** Takes over an open file, and the lock that goes with it: `openOpfsLedger` makes both. */
  constructor(file: SyncFile, release: () => void) {
    super(file);
    this.#release = release;
  }

  /** Closes the file, and lets the next one have it. */
  override close(): void {
    super.close();
    this.#release();
  }
}

/**
 * Opens the ledger of an agent in a dedicated worker. A batch is on the disk when `append` returns.
 *
 * @throws A `WakefulError`: code "in_use" where another tab or worker holds it, "cannot_open" where the file is damaged, or this is no
 *   dedicated worker of a secure page.
 */
export async function openOpfsLedger(
  agentId: string,
  options: OpfsOptions = {},
): Promise<OpfsLedger> {
  if (
    globalThis.navigator?.locks === undefined ||
    globalThis.navigator.storage?.getDirectory === undefined
  ) {
    throw new WakefulError(
      "cannot_open",
      "this place has no OPFS and Web Locks: use a dedicated worker of a page on https or localhost",
    );
  }
  const name = `${encodeURIComponent(agentId)}.log`;
  const directory = options.directory ?? (await folder());
  const release = await lock(`wakeful/${directory.name}/${name}`, options);
  try {
    const file = await openFile(directory, name);
    try {
      return new OpfsLedger(file, release);
    } catch (error) {
      file.close();
      throw error;
    }
  } catch (error) {
    release();
    throw error;
  }
}

async function folder(): Promise<FileSystemDirectoryHandle> {
  const root = await navigator.storage.getDirectory();
  return root.getDirectoryHandle("wakeful", { create: true });
}

/** Takes the lock of this name, and gives what lets it go. */
function lock(name: string, { wait = false, signal }: OpfsOptions): Promise<() => void> {
  const inUse = () =>
    new WakefulError(
      "in_use",
      "another tab or worker holds this ledger: close it there, or open it with `wait: true`",
    );
  return new Promise((resolve, reject) => {
    const taken = (lock: Lock | null) => {
      if (lock === null) {
        reject(inUse());
        return undefined;
      }
      return new Promise<void>((release) => resolve(release));
    };
    // Chromium refuses a signal beside `ifAvailable`, which never waits.
    const how: LockOptions = wait
      ? { ...(signal === undefined ? {} : { signal }) }
      : { ifAvailable: true };
    navigator.locks.request(name, how, taken).catch(reject);
  });
}

async function openFile(directory: FileSystemDirectoryHandle, name: string): Promise<SyncFile> {
  const file: FileSystemFileHandle & { createSyncAccessHandle?: () => Promise<SyncFile> } =
    await directory.getFileHandle(name, {
      create: true,
    });
  if (file.createSyncAccessHandle === undefined) {
    throw new WakefulError(
      "cannot_open",
      "OPFS writes at once in a dedicated worker only: open the ledger there",
    );
  }
  try {
    return await file.createSyncAccessHandle();
  } catch (error) {
    if (error instanceof DOMException && error.name === "NoModificationAllowedError") {
      throw new WakefulError(
        "in_use",
        "something else has this ledger's file open: close it there",
        { cause: error },
      );
    }
    throw error;
  }
}
