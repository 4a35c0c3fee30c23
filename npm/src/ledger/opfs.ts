/**
 * A ledger in the browser's own file system (OPFS), for dedicated workers.
 *
 * @packageDocumentation
 */
import { WakefulError } from "../error.js";
import { LogLedger, type SyncFile } from "./log.js";

/** Options for opening an OPFS ledger. */
export interface OpfsOptions {
  /** The folder of the ledgers; by default `wakeful` in the root of the origin. */
  directory?: FileSystemDirectoryHandle;
  /** Waits until the other holder closes the ledger, instead of throwing. */
  wait?: boolean;
  /** Cancels the waiting. */
  signal?: AbortSignal;
}

/**
 * A ledger in one file of the origin. Only this worker can write it, until it closes it or ends.
 */
export class OpfsLedger extends LogLedger {
  readonly #release: () => void;

  /** Takes an open file and its lock from `openOpfsLedger`. */
  constructor(file: SyncFile, release: () => void) {
    super(file);
    this.#release = release;
  }

  /** Closes the file and releases the lock. */
  override close(): void {
    super.close();
    this.#release();
  }
}

/**
 * Opens the ledger of an agent in a dedicated worker. A batch is on the disk when `append` returns.
 *
 * @throws A `WakefulError`. Its code is "in_use" if another tab or worker holds the ledger, and
 * "cannot_open" if the file is damaged or this is not a dedicated worker of a secure page.
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
      "OPFS and Web Locks are missing here: use a dedicated worker of a page on https or localhost",
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

/** Takes the lock of this name. Returns the function that releases it. */
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
      // The browser holds the lock until this promise is fulfilled, and `release` fulfils it.
      return new Promise<void>((release) => resolve(release));
    };
    // Chromium refuses a signal together with `ifAvailable`, which never waits.
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
      "OPFS is synchronous only in a dedicated worker: open the ledger there",
    );
  }
  try {
    return await file.createSyncAccessHandle();
  } catch (error) {
    // Only a program that does not take our lock can have the file open here.
    if (error instanceof DOMException && error.name === "NoModificationAllowedError") {
      throw new WakefulError(
        "in_use",
        "another program has the file of this ledger open: close it there",
        { cause: error },
      );
    }
    throw error;
  }
}
