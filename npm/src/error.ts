/** Errors: each one that reaches a caller is a `WakefulError` with a code to branch on. */
import type { HostErrorCode } from "./guest/wakeful_web.js";
import type { ErrorCode, ErrorPlace } from "./payloads.js";

/**
 * The kind of an error. The package has codes beside those of the core and of the guest's shell:
 * "in_use" if another tab or worker holds the ledger, and "not_loaded" if the module cannot be
 * loaded.
 */
export type WakefulErrorCode = ErrorCode | HostErrorCode | "in_use" | "not_loaded";

/**
 * The error that the package throws. Errors of the guest count too: `instanceof` checks the name
 * and the code.
 */
export class WakefulError extends Error {
  override readonly name = "WakefulError";
  /** The kind of the error. */
  readonly code: WakefulErrorCode;
  /** The place, if it is about a text. */
  readonly place?: ErrorPlace;
  /** The report as the core's exact JSON text, if the core made it. */
  readonly reportText?: string;

  /** An error with this code; the message says what to do. */
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
