// What leaves the page: a test of a decision, the ledger, a link to an entry.
import { strToU8, zipSync } from "fflate";
import { DropdownMenu } from "radix-ui";
import { useRef, useState } from "react";

import type { Open } from "../document/use-document.ts";
import { scenario } from "../live/acts.ts";
import { fragment, readAddress } from "../parts/address.ts";
import { copyText } from "../parts/clipboard.ts";
import type { Command } from "../parts/commands.ts";
import { carrying } from "../parts/permalink.ts";
import { useCommands } from "../parts/use-commands.ts";
import type { Note } from "../workspace/keeping.ts";
import { NOTES_FILE, TOLD_NOTES_FILE, toldIn, writtenNotes } from "../workspace/notes.ts";
import { SavedTest, type Test } from "./saved-test.tsx";

/** The bytes of a ledger beyond which no link could carry it, however well it packs. */
const MOST_OF_A_LINK = 10_000_000;

/** The menu of what can be exported. The palette has the same. */
export function Export({
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
  const [said, setSaid] = useState("");
  const [test, setTest] = useState<Test | null>(null);
  const trigger = useRef<HTMLButtonElement>(null);
  const name = fileName(open.name);
  const saved = (file: string, content: Blob, then = "") => {
    save(file, content);
    setSaid(`Saved ${file}${then}`);
  };
  const testOf = async (upTo: number) => {
    const answer = await open.document.folder(upTo);
    if ("error" in answer) {
      throw new Error(answer.error.message);
    }
    const files = { ...answer.ok, ...(await toldNotes(upTo)) };
    // In a folder of its own, so that it can be unpacked beside others.
    const own = `${name}-after-${upTo}`;
    const inFolder = Object.entries(files).map(([path, text]) => [`${own}/${path}`, text]);
    saved(`${own}.zip`, zipped(Object.fromEntries(inFolder)));
    setTest({ folder: own, seq: upTo, expected: answer.ok["expected.json"] ?? "{}" });
  };
  /** The notes as text: in a folder, entries have other numbers, because it is sorted by class. */
  const toldNotes = async (upTo: number): Promise<Record<string, string>> => {
    const those = notes.filter((note) => note.seq <= upTo);
    const rows = await open.document.rows(Uint32Array.from(those, (note) => note.seq));
    return those.length === 0 ? {} : { [TOLD_NOTES_FILE]: toldIn(open.name, those, rows) };
  };
  const ledger = async () =>
    saved(`${name}.jsonl`, await open.document.file(), `: wakeful why ${name}.jsonl reads it`);
  const withNotes = async () => {
    const text = await (await open.document.file()).text();
    const files = { "ledger.jsonl": text, [NOTES_FILE]: writtenNotes(notes) };
    saved(`${name}.zip`, zipped(files), ": this page opens it");
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
  const out = (id: string, does: string, run: () => Promise<void>): Command => ({
    id: `export.${id}`,
    name: does,
    group: "Export",
    run: () => void run().catch((error: unknown) => fail(open.name, error)),
  });
  const outs = [
    out("test", `Test of what it decides now, after #${open.length} (zip)`, () =>
      testOf(open.length),
    ),
    ...(seq < open.length
      ? [out("test-here", `Test of what it decided after #${seq} (zip)`, () => testOf(seq))]
      : []),
    out("link", "Copy a link to this entry, with the ledger in it", copyLink),
    out("ledger", "Ledger, as it is (jsonl)", ledger),
    ...(notes.length > 0 ? [out("notes", "Ledger with the notes (zip)", withNotes)] : []),
    ...(acts !== null
      ? [
          out("scenario", "Scenario file of what was done (txt)", async () =>
            saved(`${name}.txt`, new Blob([scenario(acts)])),
          ),
        ]
      : []),
  ];
  useCommands(outs);
  return (
    <>
      <span className="note" role="status">
        {said}
      </span>
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger className="quiet" ref={trigger}>
          Export ▾
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
            {outs.map(({ id, name: does, run }) => (
              <DropdownMenu.Item key={id} className="menu-item" onSelect={run}>
                {does}
              </DropdownMenu.Item>
            ))}
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      {test !== null && <SavedTest test={test} close={() => setTest(null)} opener={trigger} />}
    </>
  );
}

function zipped(files: Record<string, string>): Blob {
  const bytes = Object.entries(files).map(([path, text]) => [path, strToU8(text)]);
  const archive = zipSync(Object.fromEntries(bytes) as Record<string, Uint8Array>);
  return new Blob([archive as BlobPart]);
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
