// Hostile hosts in Node: every case over both loops.
import test from "node:test";

import { cases, LOOPS } from "./hostile.mjs";
import { wakeful } from "./stories.mjs";

for (const loop of LOOPS) {
  for (const [name, run] of cases(wakeful, loop)) {
    test(name, run);
  }
}
