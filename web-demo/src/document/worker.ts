// The worker of one document: loads the guest and answers the page. Opening another document starts
// another worker, so that what is open stays open until the other is there, and a ledger that is
// too much for the memory ends its own worker only.
import * as guest from "@guest/wakeful_web.js";
import wasmUrl from "@guest/wakeful_web_bg.wasm?url";
import { expose } from "comlink";

import { documentOver } from "./opened.ts";

expose(documentOver(guest.default({ module_or_path: wasmUrl }).then(() => guest)));
