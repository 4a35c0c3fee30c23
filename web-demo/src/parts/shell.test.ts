// Tests of words in commands that the page prints.
import assert from "node:assert/strict";
import test from "node:test";

import { quoted } from "./shell.ts";

test("a name is one word of a shell", () => {
  for (const [name, word] of [
    ["agents.sqlite", "agents.sqlite"],
    ["two agents.sqlite", "'two agents.sqlite'"],
    ["it's", "'it'\\''s'"],
    ["$(x).sqlite", "'$(x).sqlite'"],
    ["-f.sqlite", "'./-f.sqlite'"],
    ["", "''"],
  ] as const) {
    assert.equal(quoted(name), word);
  }
});
