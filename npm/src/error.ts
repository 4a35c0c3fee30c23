/** Errors: every one that a caller can meet is a `WakefulError` with a code to branch on. */
import type { HostErrorCode } from "./guest/wakeful_web.js";
import type { ErrorCode, ErrorPlace } from "./payloads.js";

/**
 * What kind of error it is. Beside the core's codes: "host_failed", where the clock or the host
 * itself cannot be used; "in_use", where another tab or worker holds the ledger.
 */
export type WakefulErrorCode = ErrorCode | HostErrorCode | "in_use";

/**
 * What the package throws. What the guest throws is one too: `instanceof` looks at the name and the
 * code.
 */
export class WakefulError extends Error {
  override readonly name = "WakefulError";
  /** What kind of error it is. */
  readonly code: WakefulErrorCode;
  /** Where it is, if it is about a text. */
  readonly place?: ErrorPlace;
  /** The report as the core's exact JSON text, if the core made it. */
  readonly reportText?: string;

  /** An error of this code; the message says what to do. */
  constructor(code: WakefulErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  /** Whether it is an error of the package or of the guest. */
  static override [Symbol.hasInstance](value: unknown): value is WakefulError {
    return (
      value instanceof Error &&
      value.name === "WakefulError" &&
      "code" in value &&
      typeof value.code === "string"
    );
  }
}
