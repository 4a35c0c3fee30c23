// Answers one line of the cross-check with the web guest, in Node and in a page.
//
// in:  {"id":1,"case":"heartbeat","story":"<text>"}
//      or  {"id":1,"case":"..","files":{"agent.json":"<text>",...}}
//      or  {"id":1,"case":"..","acts":["<act>",...]}, the actions of a scenario's host
// out: {"id":1,"trace":"<trace text>"}  or  {"id":1,"failure":"<what is wrong>"}
//
// The bench measures, and gets nanoseconds:
// in:  {"id":1,"measure":{"first":500,"rounds":200,"turns":15}}
// out: {"id":1,"nanos":{"round":250000,"cold":..,"parsed":..}}

import { measure } from "./measure.mjs";
import { trace } from "./play.mjs";

/** Answers one line with an initialised guest. */
export function answer(guest, line) {
  let id = null;
  try {
    const job = JSON.parse(line);
    id = job.id ?? null;
    if (job.measure !== undefined) {
      return { id, nanos: measure(guest, job.measure) };
    }
    return { id, trace: trace(guest, readJob(job)) };
  } catch (error) {
    return { id, failure: error instanceof Error ? error.message : String(error) };
  }
}

function readJob(job) {
  if (typeof job.case !== "string") {
    throw new Error("a line needs `case`, a string");
  }
  const given = [
    typeof job.story === "string",
    job.files !== null && typeof job.files === "object",
    Array.isArray(job.acts),
  ];
  if (given.filter(Boolean).length !== 1) {
    throw new Error(
      "a line needs exactly one of `story`, a text, `files`, an object of path to text, and `acts`, an array of texts",
    );
  }
  return job;
}
