// The worker: loads the guest and the bundle, and plays the case that the page asks for. The page never waits for wasm.
import * as guest from "@guest/wakeful_web.js";
import wasmUrl from "@guest/wakeful_web_bg.wasm?url";
import { trace } from "@shell/play.mjs";

import { readBundle, type Case } from "../case/bundle.ts";
import { compare } from "../case/compare.ts";
import type { Played, Trace } from "../case/trace.ts";
import type { Answer, PlayCase } from "./messages.ts";

const say = (answer: Answer) => self.postMessage(answer);

async function load(): Promise<Map<string, Case>> {
  const [, response] = await Promise.all([
    guest.default({ module_or_path: wasmUrl }),
    fetch(new URL("bundle.json", self.name), { cache: "no-cache" }),
  ]);
  if (!response.ok) {
    throw new Error(`bundle.json cannot be fetched (HTTP ${response.status}): write it with \`cargo xtask serve\``);
  }
  const cases = readBundle(await response.text());
  return new Map(cases.map((entry) => [entry.case, entry]));
}

function play(entry: Case): Played {
  const began = performance.now();
  const states: Played["states"] = [];
  const lines: string[] = [];
  const text = trace(guest, entry, (scheduler, added) => {
    states.push(scheduler.state());
    lines.push(...added);
  });
  const took_ms = performance.now() - began;
  const played = JSON.parse(text) as Trace;
  return { case: entry.case, steps: played.steps, states, lines, verdict: compare(played, entry.trace ?? undefined), took_ms };
}

const words = (error: unknown) => (error instanceof Error ? error.message : String(error));

const loaded = load();
loaded.then(
  (cases) => say({ say: "ready", cases: [...cases.values()].map((entry) => ({ case: entry.case, kind: entry.kind, shows: entry.shows })) }),
  (error: unknown) => say({ say: "broken", message: words(error) }),
);

self.addEventListener("message", ({ data }: MessageEvent<PlayCase>) => {
  loaded
    .then((cases) => {
      const entry = cases.get(data.case);
      if (entry === undefined) {
        throw new Error(`the bundle has no case \`${data.case}\``);
      }
      say({ say: "played", ask: data.ask, played: play(entry) });
    })
    .catch((error: unknown) => say({ say: "failed", ask: data.ask, message: words(error) }));
});
