// The worker of one document: loads the guest and answers the page. Each document has its own
// worker. So the open one stays until the next is ready, and a ledger that exceeds the memory ends
// only its own worker.
import * as guest from "@guest/wakeful_web.js";
import wasmUrl from "@guest/wakeful_web_bg.wasm?url";
import { expose, transfer } from "comlink";

import { buffersOf } from "./index.ts";
import { documentOver } from "./opened.ts";

expose(
  documentOver(
    guest.default({ module_or_path: wasmUrl }).then(() => guest),
    (part) => transfer(part, buffersOf(part)),
  ),
);
