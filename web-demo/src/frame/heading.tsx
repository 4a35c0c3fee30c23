// The top of the page: what is open, whether the native core agrees, and the headline.
import { strToU8, zipSync } from "fflate";
import { DropdownMenu } from "radix-ui";
import { useState, type ReactNode } from "react";

import { dateAndTime } from "../case/clock.ts";
import { scenario } from "../live/acts.ts";
import type { Open } from "../document/use-document.ts";
import { useRows } from "../document/use-rows.ts";
import { fragment, readAddress } from "../parts/address.ts";
import { copyText } from "../parts/clipboard.ts";
import { carrying } from "../parts/permalink.ts";
import { ThemeSwitch } from "../parts/theme-switch.tsx";
import { shortened } from "../parts/visible.ts";
import type { Note } from "../workspace/keeping.ts";
import { NOTES_FILE, TOLD_NOTES_FILE, toldIn, writtenNotes } from "../workspace/notes.ts";

/** The heading of an open document. */
export function Heading(props: {
  open: Open;
  seq: number;
  notes: readonly Note[];
  goTo: (seq: number) => void;
  fail: (name: string, error: unknown) => void;
  fork: (facts: string[]) => void;
  acts: readonly string[] | null;
  /** Whether all entries were read. From a snapshot, only those after it are read at first. */
  isWhole: boolean;
  /** The headline. */
  children: ReactNode;
}) {
  const { open, seq } = props;
  const row = useRows(open, [seq]).get(seq);
  return (
    <header className="heading">
      <div className="heading-case">
        <span className={`kind kind-${open.kind}`}>{open.kind}</span>
        <span className="name" title={open.name}>
          {shortened(open.name)}
        </span>
        <span className="clock">{row !== undefined && `${dateAndTime(row.at)} UTC`}</span>
        <VerdictBadge open={open} isWhole={props.isWhole} goTo={props.goTo} />
        <Export open={open} seq={seq} notes={props.notes} fail={props.fail} acts={props.acts} />
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
      <div className="heading-text">{props.children}</div>
    </header>
  );
}

function VerdictBadge({
  open,
  isWhole,
  goTo,
}: {
  open: Open;
  isWhole: boolean;
  goTo: (seq: number) => void;
}) {
  const { verdict, name } = open;
  if (verdict.native === "none") {
    return (
      <span
        className="badge badge-none"
        data-case={name}
        data-verdict="none"
        title="Each entry was checked against the hash of the one before. The hash of the newest begins so."
      >
        Verified{!isWhole && ` from #${open.snapshot + 1}`}, {open.head.chain.slice(0, 8)}
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

/** The bytes of a ledger beyond which no link could carry it, however well it packs. */
const MOST_OF_A_LINK = 10_000_000;

function Export({
  open,
  seq,
  notes,
  fail,
  acts,
}: {
  open: Open;
  seq: number;
  notes: readonly Note[];
  fail: (name: string, error: unknown) => void;
  acts: readonly string[] | null;
}) {
  const failed = (error: unknown) => fail(open.name, error);
  const folder = async (upTo: number) => {
    const answer = await open.document.folder(upTo);
    if ("error" in answer) {
      throw new Error(answer.error.message);
    }
    zipped({ ...answer.ok, ...(await toldNotes(upTo)) });
  };
  /** The notes as text: in a folder, entries have other numbers, because it is sorted by class. */
  const toldNotes = async (upTo: number): Promise<Record<string, string>> => {
    const those = notes.filter((note) => note.seq <= upTo);
    const rows = await open.document.rows(Uint32Array.from(those, (note) => note.seq));
    return those.length === 0 ? {} : { [TOLD_NOTES_FILE]: toldIn(open.name, those, rows) };
  };
  const zipped = (files: Record<string, string>) => {
    const bytes = Object.entries(files).map(([path, text]) => [path, strToU8(text)]);
    const archive = zipSync(Object.fromEntries(bytes) as Record<string, Uint8Array>);
    saved(`${fileName(open.name)}.zip`, new Blob([archive as BlobPart]));
  };
  const [said, setSaid] = useState("");
  const saved = (name: string, file: Blob) => {
    save(name, file);
    setSaid(`Saved ${name}`);
  };
  const ledger = async () => saved(`${fileName(open.name)}.jsonl`, await open.document.file());
  const withNotes = async () => {
    const text = await (await open.document.file()).text();
    zipped({ "ledger.jsonl": text, [NOTES_FILE]: writtenNotes(notes) });
  };
  const copyLink = async () => {
    const file = await open.document.file();
    if (file.size > MOST_OF_A_LINK) {
      throw new Error("this ledger is too long for a link; export it and send the file");
    }
    const carried = { name: open.name, ledger: await file.text() };
    const { view } = readAddress();
    const link =
      open.verdict.native === "none"
        ? carrying(carried, seq, view)
        : fragment({ name: open.name, seq, view });
    if (link === null) {
      throw new Error("this ledger is too long for a link; export it and send the file");
    }
    await copyText(new URL(link, document.baseURI.replace(/#.*/, "")).href);
    setSaid("Copied the link");
  };
  return (
    <>
      <span className="note" role="status">
        {said}
      </span>
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger className="quiet">Export ▾</DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
            <DropdownMenu.Item
              className="menu-item"
              onSelect={() => void folder(open.length).catch(failed)}
            >
              Test of what it decides now: a fixture folder (zip)
            </DropdownMenu.Item>
            {seq < open.length && (
              <DropdownMenu.Item
                className="menu-item"
                onSelect={() => void folder(seq).catch(failed)}
              >
                Test of what it decided after #{seq}: a fixture folder (zip)
              </DropdownMenu.Item>
            )}
            <DropdownMenu.Item className="menu-item" onSelect={() => void copyLink().catch(failed)}>
              Copy a link to this entry, with the ledger in it
            </DropdownMenu.Item>
            <DropdownMenu.Item className="menu-item" onSelect={() => void ledger().catch(failed)}>
              Ledger, as it is (jsonl)
            </DropdownMenu.Item>
            {notes.length > 0 && (
              <DropdownMenu.Item
                className="menu-item"
                onSelect={() => void withNotes().catch(failed)}
              >
                Ledger with the notes (zip)
              </DropdownMenu.Item>
            )}
            {acts !== null && (
              <DropdownMenu.Item
                className="menu-item"
                onSelect={() => saved(`${fileName(open.name)}.txt`, new Blob([scenario(acts)]))}
              >
                Scenario file of what was done (txt)
              </DropdownMenu.Item>
            )}
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
    </>
  );
}

function save(name: string, file: Blob) {
  const address = URL.createObjectURL(file);
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}

function fileName(name: string): string {
  return name.replace(/\.[a-z]+$/i, "").replaceAll(/[^\w.-]+/g, "-");
}
