// The actions on the live agent as a scenario file, so that they can be played again: natively, in
// any engine, as a test.
import { instant } from "./clock.ts";

/** Keeps the actions in order, with a `clock` line if time has moved. */
export class Acts {
  #told: string[] = [];
  #clock = -1n;

  /** Records an action at an instant of the agent's time. */
  did(act: string, now: bigint): void {
    if (now !== this.#clock) {
      this.#told.push(`clock ${instant(now)}`);
      this.#clock = now;
    }
    this.#told.push(act);
  }

  /** The append of the last action failed, so a line before it says so. */
  lastFailed(): void {
    this.#told.splice(-1, 0, "append fails");
  }

  /** The new lines since the last call. */
  take(): string[] {
    return this.#told.splice(0);
  }
}

/** The text of a scenario file. */
export function scenario(acts: readonly string[]): string {
  return ["# What was done to the live agent of the workbench.", ...acts, "look", ""].join("\n");
}
