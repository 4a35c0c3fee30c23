// The files of the live agent in the browser's file system (OPFS): its ledger, and the clock's
// file.
import { WakefulError } from "@package/error.ts";
import type { SyncFile } from "@package/ledger/log.ts";
import { openOpfsLedger } from "@package/ledger/opfs.ts";

import type { TextStore } from "./clock.ts";
import { AGENT_ID, type OwnLedger } from "./engine.ts";

/** The folder of the live agent, in the root of the origin. */
const FOLDER = "wakeful-live";
const CLOCK = "clock.json";

/** The length of the clock's file, more than its text ever needs. */
const CLOCK_BYTES = 128;

/**
 * How long an opening waits for another holder of the ledger, in milliseconds. A worker that was
 * ended releases it a moment later.
 */
const PATIENCE_MS = 1500;
const PAUSE_MS = 50;

const NEEDS =
  "the live agent needs files of its own in the browser (OPFS, with synchronous access in a worker)";
const HAVE_IT =
  "Chrome and Edge from 108, Firefox from 111 and Safari from 16.4 have it, on https or localhost";
const REST = "everything in this page but the live agent works without it";
const NO_FILES = `${NEEDS}, and this browser has none: ${HAVE_IT}; ${REST}`;
const REFUSED_FILES = `${NEEDS}, and this browser refuses them, as some private windows do: ${REST}`;

const IN_USE = "another tab of this browser runs this agent: close it there, then start it here";

/** The synchronous access to a file in a dedicated worker. */
type SyncFileHandle = FileSystemFileHandle & { createSyncAccessHandle?: () => Promise<SyncFile> };

/**
 * Whether there is a live agent in this browser. If the browser has no files there is none, and
 * starting one says why.
 */
export async function isThere(): Promise<boolean> {
  try {
    await (await navigator.storage.getDirectory()).getDirectoryHandle(FOLDER);
    return true;
  } catch {
    return false;
  }
}

/**
 * Removes it permanently.
 *
 * @throws A `WakefulError` with the code "in_use" if another tab has it.
 */
export async function discard(): Promise<void> {
  const directory = await root();
  await patiently(() => directory.removeEntry(FOLDER, { recursive: true }));
}

/**
 * Opens both files in a dedicated worker.
 *
 * @throws A `WakefulError` with the code "in_use" if another tab has them, or "cannot_open" if they
 * cannot be used.
 */
export async function openFiles(): Promise<{ ledger: OwnLedger; clock: TextStore }> {
  const directory = await (await root()).getDirectoryHandle(FOLDER, { create: true });
  const ledger = await patiently(() => openOpfsLedger(AGENT_ID, { directory }));
  try {
    const file: SyncFileHandle = await directory.getFileHandle(CLOCK, { create: true });
    const handle = await patiently(
      () =>
        file.createSyncAccessHandle?.() ??
        Promise.reject(new Error("this is not a dedicated worker")),
    );
    const clock = textIn(handle);
    // Takes its room before the ledger fills the storage.
    clock.save(clock.load());
    return { ledger: closing(ledger, () => handle.close()), clock };
  } catch (error) {
    ledger.close();
    throw error;
  }
}

/** The root of the origin's files. */
async function root(): Promise<FileSystemDirectoryHandle> {
  // The page itself has no synchronous access, so only the worker asks for it.
  const isWorker = typeof document === "undefined";
  try {
    const { storage, locks } = navigator as Partial<Navigator>;
    if (
      storage?.getDirectory !== undefined &&
      locks !== undefined &&
      (!isWorker || "createSyncAccessHandle" in FileSystemFileHandle.prototype)
    ) {
      return await storage.getDirectory();
    }
  } catch (error) {
    throw new WakefulError("cannot_open", REFUSED_FILES, { cause: error });
  }
  throw new WakefulError("cannot_open", NO_FILES);
}

/** Tries until it succeeds or the time is over. */
async function patiently<T>(open: () => Promise<T>): Promise<T> {
  for (const until = performance.now() + PATIENCE_MS; ;) {
    try {
      return await open();
    } catch (error) {
      if (!isInUse(error)) throw error;
      if (performance.now() > until) throw new WakefulError("in_use", IN_USE, { cause: error });
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
  }
}

const isInUse = (error: unknown) =>
  error instanceof Error &&
  (("code" in error && error.code === "in_use") || error.name === "NoModificationAllowedError");

/** The ledger, which first closes the clock's file. */
function closing(ledger: OwnLedger, beside: () => void): OwnLedger {
  return {
    append: (expected, batch) => ledger.append(expected, batch),
    read: (after, limit) => ledger.read(after, limit),
    close: () => {
      beside();
      ledger.close();
    },
  };
}

function textIn(file: SyncFile): TextStore {
  return {
    load: () => {
      const bytes = new Uint8Array(file.getSize());
      file.read(bytes, { at: 0 });
      return new TextDecoder().decode(bytes);
    },
    save: (text) => {
      // Over the old text, with spaces up to a fixed length: then the file does not grow, and a
      // full storage still takes it.
      const bytes = new TextEncoder().encode(text.padEnd(CLOCK_BYTES));
      file.write(bytes, { at: 0 });
      if (file.getSize() > bytes.length) {
        file.truncate(bytes.length);
      }
      file.flush();
    },
  };
}
