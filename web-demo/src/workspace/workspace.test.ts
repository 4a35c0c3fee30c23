// Tests of the names of documents, and of their tree.
import assert from "node:assert/strict";
import test from "node:test";

import type { Kept } from "./keeping.ts";
import { freeName, treeOf, type Branch } from "./use-workspace.ts";

function kept(name: string, parent: string | null = null): Kept {
  const after = parent === null ? null : 3;
  return {
    name,
    identity: "",
    kind: "ledger",
    shows: "",
    from: null,
    parent,
    after,
    seq: null,
    notes: [],
    opened: 0,
  };
}

test("a name is numbered if another document has it", () => {
  assert.equal(freeName("a", []), "a");
  assert.equal(freeName("a", [kept("a")]), "a (2)");
  assert.equal(freeName("a", [kept("a"), kept("a (2)"), kept("b")]), "a (3)");
});

test("forks are below their document, and a fork of nothing is a root", () => {
  const shape = (branch: Branch): unknown => [branch.kept.name, branch.forks.map(shape)];
  const all = [
    kept("a"),
    kept("a from #3", "a"),
    kept("b"),
    kept("c", "gone"),
    kept("d", "a from #3"),
  ];
  assert.deepEqual(treeOf(all).map(shape), [
    ["a", [["a from #3", [["d", []]]]]],
    ["b", []],
    ["c", []],
  ]);
});
