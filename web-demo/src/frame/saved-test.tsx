// What to do with a test that was just saved: what it checks, and the command that checks it.
import type { RefObject } from "react";

import { CommandLine } from "../parts/command-line.tsx";
import { Modal, ModalButtons } from "../parts/modal.tsx";
import { quoted } from "../parts/shell.ts";
import { visible } from "../parts/visible.ts";

/** A test that was saved. */
export interface Test {
  /** The folder in the archive, and the name of the archive. */
  folder: string;
  /** The entry after which it decides. */
  seq: number;
  /** Its `expected.json`. */
  expected: string;
}

/** The dialog. The focus returns to `opener`. */
export function SavedTest({
  test: { folder, seq, expected },
  close,
  opener,
}: {
  test: Test;
  close: () => void;
  opener: RefObject<HTMLElement | null>;
}) {
  const { decision, rule } = JSON.parse(expected) as { decision?: string; rule?: string };
  const command = `unzip ${quoted(`${folder}.zip`)} && wakeful replay ${quoted(folder)}`;
  return (
    <Modal title="The test is saved" setOpen={close} opener={opener}>
      <p>
        It has the ledger up to #{seq}, and expects the decision{" "}
        <strong>{visible(decision ?? "")}</strong>
        {rule !== undefined && (
          <>
            {" "}
            by rule <code>{visible(rule)}</code>
          </>
        )}
        . To check it, type:
      </p>
      <CommandLine command={command} />
      <p>
        It ends with 0 if this is decided, and with 1 if not. Of several such folders, name the one
        that has them. If something else should be decided, write that into{" "}
        <code>expected.json</code>: then the test fails until it is.
      </p>
      <ModalButtons />
    </Modal>
  );
}
