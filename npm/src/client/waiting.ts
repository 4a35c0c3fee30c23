/** Time: pauses that grow, and connections that fall silent. */
import { WakefulProblem } from "./problem.js";

/** The first and the longest pause after a lost connection, in milliseconds. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;

/** Waits, and rejects if the signal is aborted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", end, { once: true });
  });
}

/**
 * How often to try again. Once something has succeeded, lost connections and full servers are tried
 * again without an end, in growing pauses. Before that, a failure is one of the caller: the URL may
 * be wrong.
 */
export class Retries {
  readonly #signal: AbortSignal | undefined;
  #failures: number | undefined;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** The server has answered once, so the caller's part is right. */
  answered(): void {
    this.#failures ??= 0;
  }

  /** Something new has come, so the next pause is short again. */
  succeeded(): void {
    this.#failures = 0;
  }

  /** Waits until it is time to try again. Throws what no repetition can mend. */
  async after(why?: unknown): Promise<void> {
    this.#signal?.throwIfAborted();
    const isRefused = why instanceof WakefulProblem && !why.isPassing;
    if (this.#failures === undefined || isRefused) {
      throw why;
    }
    // Clients that lost one server together do not come back together.
    const longest = Math.min(FIRST_PAUSE * 2 ** this.#failures, LONGEST_PAUSE);
    const asked = why instanceof WakefulProblem ? (why.retryAfter ?? 0) * 1_000 : 0;
    this.#failures += 1;
    await pause(Math.max(asked, longest * (0.5 + Math.random() / 2)), this.#signal);
  }
}

/** A connection that is lost if the other side is silent for too long. */
export class Watched {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #limit: number;

  /** It ends with the signal `outer`; `limit` is the longest silence in milliseconds. */
  constructor(outer: AbortSignal | undefined, limit: number) {
    this.#outer = outer;
    this.#limit = limit;
    outer?.throwIfAborted();
    outer?.addEventListener("abort", this.#follow, { once: true });
  }

  readonly #follow = (): void => this.#controller.abort(this.#outer?.reason);

  /** Waits for the other side. Time that the caller takes for itself does not count. */
  async hears<T>(wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    // Also a `fetch` that does not heed its signal is not waited for.
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const silent = new DOMException(`nothing came for ${this.#limit} ms`, "TimeoutError");
        this.#controller.abort(silent);
        reject(silent);
      }, this.#limit);
    });
    try {
      return await Promise.race([wait(this.#controller.signal), silence]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the connection. */
  end(): void {
    this.#outer?.removeEventListener("abort", this.#follow);
    this.#controller.abort();
  }
}
