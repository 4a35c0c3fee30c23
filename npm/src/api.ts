/**
 * Everything that the package exports. It does not start the guest: each entry does that in the way
 * of its platform.
 *
 * @packageDocumentation
 */
export type { AsyncHost, AsyncLedger, AsyncProvider } from "./async-host.js";
export { AsyncScheduler } from "./async-scheduler.js";
export { WakefulError, type WakefulErrorCode } from "./error.js";
export {
  agentOf,
  type Clock,
  type Folder,
  type Host,
  type Json,
  type Ledger,
  Machine,
  type Proposal,
  type Provider,
  Scheduler,
  type State,
} from "./guest/wakeful_web.js";
export { systemClock } from "./system-clock.js";
export { SteadyClock, type SteadyOptions } from "./steady-clock.js";
export { LedgerConflict, MemoryLedger } from "./ledger/memory.mjs";
export type * from "./payloads.js";
