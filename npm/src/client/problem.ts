/** What the server refuses, as an error. */
import type { ErrorPlace } from "../payloads.js";
import type { Problem } from "./api.js";

/** A request that the server refused. The ledger is whole in every case. */
export class WakefulProblem extends Error {
  override readonly name = "WakefulProblem";
  /** The HTTP status. */
  readonly status: number;
  /** The kind of problem; docs/serve.md lists them. `not_wakeful` if another server answered. */
  readonly code: string;
  /** What is wrong and what to do, in a sentence. */
  readonly detail: string;
  /** The place, if it is about a text. */
  readonly place?: ErrorPlace;
  /** The seconds after which to come again, if the server says them. */
  readonly retryAfter?: number;

  constructor(problem: Problem, retryAfter?: number) {
    super(problem.detail);
    this.status = problem.status;
    this.code = problem.code;
    this.detail = problem.detail;
    if (problem.place) {
      this.place = problem.place;
    }
    if (retryAfter !== undefined) {
      this.retryAfter = retryAfter;
    }
  }

  /** The problem that an answer has. Something between client and server may have answered. */
  static async of(answer: Response): Promise<WakefulProblem> {
    const text = await answer.text();
    const seconds = Number.parseInt(answer.headers.get("retry-after") ?? "", 10);
    const retryAfter = Number.isNaN(seconds) ? undefined : seconds;
    return new WakefulProblem(read(text) ?? foreign(answer.status), retryAfter);
  }

  /** Whether the same request may succeed a little later. */
  get isPassing(): boolean {
    return [429, 502, 503, 504].includes(this.status);
  }
}

function read(text: string): Problem | undefined {
  try {
    const problem = JSON.parse(text) as Partial<Problem> | null;
    return typeof problem?.code === "string" && typeof problem.detail === "string"
      ? (problem as Problem)
      : undefined;
  } catch {
    return undefined;
  }
}

function foreign(status: number): Problem {
  const detail = `status ${status}, and not from \`wakeful serve\`: look at the URL, and at what is between`;
  return { status, code: "not_wakeful", detail };
}
