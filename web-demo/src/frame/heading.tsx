// The top of the page: what is open, the sentence about the agent, and whether the native core has
// the same history.
import { zipSync } from "fflate";
import { DropdownMenu } from "radix-ui";

import { dateAndTime } from "../case/clock.ts";
import type { Seen } from "../document/messages.ts";
import { scenario } from "../live/acts.ts";
import { filesOf } from "../document/source.ts";
import type { Open } from "../document/use-document.ts";
import { fragment, readAddress } from "../parts/address.ts";
import { carrying } from "../parts/permalink.ts";
import { Said } from "../parts/said.tsx";
import { ThemeSwitch } from "../parts/theme-switch.tsx";

/** The heading of an open document. */
export function Heading(props: {
  open: Open;
  seen: Seen | null;
  seq: number;
  goTo: (seq: number) => void;
  fail: (name: string, error: unknown) => void;
  fork: (facts: string[]) => void;
  acts: readonly string[] | null;
}) {
  const { open, seen, seq } = props;
  return (
    <header className="heading">
      <div className="heading-case">
        <span className={`kind kind-${open.kind}`}>{open.kind}</span>
        <span className="name">{open.name}</span>
        <span className="clock">
          {open.rows[seq - 1] !== undefined && `${dateAndTime(open.rows[seq - 1]?.at ?? "")} UTC`}
        </span>
        <VerdictBadge open={open} goTo={props.goTo} />
        <Export open={open} seq={seq} fail={props.fail} acts={props.acts} />
        <button
          type="button"
          className="quiet"
          title="Copy the entries up to here into a fork that can be changed"
          onClick={() => props.fork([])}
        >
          Fork here
        </button>
        <ThemeSwitch />
      </div>
      <div className="heading-text">
        <h1 className="sentence" aria-live="polite" title={seen?.explanation.sentence}>
          {seen === null ? "\u00a0" : <Said sentence={seen.explanation.sentence} />}
        </h1>
        <p className="shows" title={open.shows}>
          {open.shows}
        </p>
      </div>
    </header>
  );
}

function VerdictBadge({ open, goTo }: { open: Open; goTo: (seq: number) => void }) {
  const { verdict, name } = open;
  if (verdict.native === "none") {
    return (
      <span
        className="badge badge-none"
        data-case={name}
        data-verdict="none"
        title="Only bundled cases come with the native core's trace"
      >
        Verified, {open.head.chain.slice(0, 8)}
      </span>
    );
  }
  if (verdict.native === "equal") {
    return (
      <span
        className="badge badge-good"
        data-case={name}
        data-verdict="equal"
        title={`The hash of the whole history is ${verdict.chain}`}
      >
        ✓ Head equals native <code>{verdict.chain.slice(0, 8)}</code>
      </span>
    );
  }
  const where = verdict.entry === null ? verdict.part : `entry ${verdict.entry}`;
  return (
    <button
      type="button"
      className="badge badge-bad"
      data-case={name}
      data-verdict="differs"
      onClick={() => verdict.entry !== null && goTo(verdict.entry)}
    >
      ✗ Differs from native at step {verdict.step + 1}, {where}
    </button>
  );
}

function Export({
  open,
  seq,
  fail,
  acts,
}: {
  open: Open;
  seq: number;
  fail: (name: string, error: unknown) => void;
  acts: readonly string[] | null;
}) {
  const failed = (error: unknown) => fail(open.name, error);
  const folder = async (upTo: number) => {
    const answer = await open.document.folder(upTo);
    if ("error" in answer) {
      throw new Error(answer.error.message);
    }
    save(`${fileName(open.name)}.zip`, zipSync(filesOf(answer.ok)), "application/zip");
  };
  const ledger = async () =>
    save(
      `${fileName(open.name)}.jsonl`,
      new TextEncoder().encode(await open.document.text()),
      "application/x-ndjson",
    );
  const copyLink = async () => {
    const carried = { name: open.name, ledger: await open.document.text() };
    const { view } = readAddress();
    const link =
      open.verdict.native === "none"
        ? carrying(carried, seq, view)
        : fragment({ name: open.name, seq, view });
    if (link === null) {
      throw new Error("this ledger is too long for a link; export it and send the file");
    }
    await navigator.clipboard.writeText(new URL(link, document.baseURI.replace(/#.*/, "")).href);
  };
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger className="quiet">Export ▾</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
          <DropdownMenu.Item className="menu-item" onSelect={() => void folder(seq).catch(failed)}>
            Fixture folder up to #{seq}, with expected.json (zip)
          </DropdownMenu.Item>
          <DropdownMenu.Item className="menu-item" onSelect={() => void copyLink().catch(failed)}>
            Copy a link to this entry, with the ledger in it
          </DropdownMenu.Item>
          <DropdownMenu.Item className="menu-item" onSelect={() => void ledger().catch(failed)}>
            Ledger, as it is (jsonl)
          </DropdownMenu.Item>
          {acts !== null && (
            <DropdownMenu.Item
              className="menu-item"
              onSelect={() =>
                save(
                  `${fileName(open.name)}.txt`,
                  new TextEncoder().encode(scenario(acts)),
                  "text/plain",
                )
              }
            >
              Scenario file of what was done (txt)
            </DropdownMenu.Item>
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

function save(name: string, bytes: Uint8Array, type: string) {
  const address = URL.createObjectURL(new Blob([bytes as BlobPart], { type }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}

function fileName(name: string): string {
  return name.replace(/\.[a-z]+$/i, "").replaceAll(/[^\w.-]+/g, "-");
}
