// The clock of most hosts, so that none has to convert milliseconds.
import type { Clock } from "./guest/wakeful_web.js";

/** The clock of the system, in nanoseconds since the epoch. */
export const systemClock: Clock = { now: () => BigInt(Date.now()) * 1_000_000n };
