// What was done to the live agent, in the words of a scenario file, so that it can be played again:
// natively, in any engine, as a test.
import { instant } from "./clock.ts";

/** Keeps the acts in their order; the clock is set where it has moved. */
export class Acts {
  #told: string[] = [];
  #clock = -1n;

  /** Something is done at an instant of the agent's time. */
  did(act: string, now: bigint): void {
    if (now !== this.#clock) {
      this.#told.push(`clock ${instant(now)}`);
      this.#clock = now;
    }
    this.#told.push(act);
  }

  /** The append of what was done last failed: before it stands that it will. */
  lastFailed(): void {
    this.#told.splice(-1, 0, "append fails");
  }

  /** What is new since this was asked last. */
  take(): string[] {
    return this.#told.splice(0);
  }
}

/** The text of a scenario file. */
export function scenario(acts: readonly string[]): string {
  return ["# What was done to the live agent of the workbench.", ...acts, "look", ""].join("\n");
}
