// The worker of the live agent: the engine over the files of the origin. Ending this worker is a
// crash of the agent's process.
import * as guest from "@guest/wakeful_web.js";
import wasmUrl from "@guest/wakeful_web_bg.wasm?url";

import { Engine } from "./engine.ts";
import { openFiles } from "./files.ts";
import type { Ask, Told } from "./messages.ts";

const tell = (told: Told) => self.postMessage(told);

const engine = guest.default({ module_or_path: wasmUrl }).then(
  () =>
    new Engine({
      guest,
      open: openFiles,
      machine: () => BigInt(Date.now()) * 1_000_000n,
      later: (ms, call) => {
        const timer = setTimeout(call, ms);
        return () => clearTimeout(timer);
      },
      tell,
    }),
);

let before: Promise<unknown> = engine;

self.addEventListener("message", ({ data }: MessageEvent<Ask>) => {
  const answer = async () => (await engine).hear(data.ask, data.command);
  before = before.then(answer, answer).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    tell({ say: "answered", ask: data.ask, refused: { code: "failed", message } });
  });
});
