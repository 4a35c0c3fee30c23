// A full storage of the browser: how it is recognised, and what a person can do.

/** The names that browsers give to it; the second one is of older versions. */
const NAMES = ["QuotaExceededError", "NS_ERROR_FILE_NO_DEVICE_SPACE"];

/** Whether an error, or its cause, says that the storage of the browser is full. */
export function isFull(error: unknown): boolean {
  return (
    error instanceof Error &&
    (NAMES.includes(error.name) || (error.cause !== undefined && isFull(error.cause)))
  );
}

/** The code of a refusal because the storage is full. */
export const STORAGE_FULL = "storage_full";

/** How much of the storage is used, in bytes; null if the browser does not tell. */
export async function storageUsed(): Promise<{ used: number; of: number } | null> {
  try {
    const { usage, quota } = await navigator.storage.estimate();
    return usage === undefined || quota === undefined ? null : { used: usage, of: quota };
  } catch {
    return null;
  }
}
