// What to do with a test that was just saved: what it checks, and the command that checks it.
import { Dialog } from "radix-ui";
import { useState, type RefObject } from "react";

import { copyText } from "../parts/clipboard.ts";
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
  const [copied, setCopied] = useState(false);
  const { decision, rule } = JSON.parse(expected) as { decision?: string; rule?: string };
  const command = `unzip ${quoted(`${folder}.zip`)} && wakeful replay ${quoted(folder)}`;
  const copy = () => {
    copyText(command).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <Dialog.Root open onOpenChange={(open) => !open && close()}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content
          className="dialog"
          aria-describedby={undefined}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            opener.current?.focus();
          }}
        >
          <Dialog.Title>The test is saved</Dialog.Title>
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
          <pre className="command">
            <code>{command}</code>
          </pre>
          <p>
            It ends with 0 if this is decided, and with 1 if not. Of several such folders, name the
            one that has them. If something else should be decided, write that into{" "}
            <code>expected.json</code>: then the test fails until it is.
          </p>
          <p className="dialog-buttons">
            <button type="button" className="quiet" onClick={copy}>
              {copied ? "Copied" : "Copy"}
            </button>
            <Dialog.Close className="quiet">Close</Dialog.Close>
          </p>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
