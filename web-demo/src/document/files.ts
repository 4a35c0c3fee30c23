// Files of this computer: dropped, chosen, or made here. They stay where they are until a person
// reads them, so a large one costs nothing before.

/** Files by relative path, with `/` between names. */
export type Files = Record<string, Blob>;

/**
 * The largest size that a tab opens, in bytes: a ledger is kept in memory as its bytes, beside the
 * states that the core keeps.
 */
export const MOST_BYTES = 1_000_000_000;

/** The bytes by which a file is recognised. */
const START = 65_536;

/** The beginning of a file. If it is `whole`, it ends with a line, unless it has only one. */
export async function startOf(file: Blob, whole = false): Promise<Uint8Array> {
  const bytes = new Uint8Array(await file.slice(0, START).arrayBuffer());
  const end = whole && file.size > START ? bytes.lastIndexOf(10) : -1;
  return end === -1 ? bytes : bytes.subarray(0, end);
}

export function startsWith(bytes: Uint8Array, magic: Uint8Array): boolean {
  return magic.every((byte, at) => bytes[at] === byte);
}

/** Bytes as text, or an error that says which byte is not. */
export function textOf(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const at = firstBad(bytes);
    throw new Error(`\`${path}\` is not UTF-8 text: byte ${at} cannot be read`);
  }
}

/** The first byte that does not begin a character. */
function firstBad(bytes: Uint8Array): number {
  let [good, bad] = [0, bytes.length];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    // A character that is cut by the end of the part is not an error.
    const readable = !new TextDecoder()
      .decode(bytes.subarray(0, middle), { stream: true })
      .includes("\ufffd");
    [good, bad] = readable ? [middle, bad] : [good, middle];
  }
  return good;
}

/** Bytes in words. */
export function size(bytes: number): string {
  return bytes < 1_000_000
    ? `${(bytes / 1_000).toFixed(1)} kB`
    : bytes < 1_000_000_000
      ? `${(bytes / 1_000_000).toFixed(1)} MB`
      : `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}

/** Whole megabytes, rounded up: a size above a limit never reads as the limit. */
function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1_000_000).toLocaleString("en")} MB`;
}

/** The dropped files, with the files of dropped folders. */
export async function dropped(
  items: DataTransferItemList,
): Promise<{ name: string; files: Files }> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const files: Files = {};
  for (const entry of entries) {
    await gather(entry, files);
  }
  const [first] = entries;
  const alone = entries.length === 1 && first !== undefined;
  const rooted = alone && first.isDirectory ? first.name.length + 1 : 0;
  return {
    name: alone ? first.name : nameOf(entries.map(({ name }) => name)),
    files: Object.fromEntries(
      Object.entries(files).map(([path, file]) => [path.slice(rooted), file]),
    ),
  };
}

/** The name of several files: SQLite's are told by the first part that all of them share. */
function nameOf(names: string[]): string {
  const main = names.find((name) => names.every((other) => other.startsWith(name)));
  return main ?? `${names.length} files`;
}

async function gather(entry: FileSystemEntry, files: Files): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((done, failed) =>
      (entry as FileSystemFileEntry).file(done, failed),
    );
    files[entry.fullPath.slice(1)] = fitting(file, files);
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // A browser returns the names of a large folder in parts.
    const part = await new Promise<FileSystemEntry[]>((done, failed) =>
      reader.readEntries(done, failed),
    );
    if (part.length === 0) {
      return;
    }
    for (const child of part) {
      await gather(child, files);
    }
  }
}

/**
 * The file. It is refused if it and the files before it would exceed the memory of a tab.
 */
function fitting(file: File, before: Files): File {
  const whole = Object.values(before).reduce((sum, { size }) => sum + size, file.size);
  if (whole > MOST_BYTES) {
    throw new Error(
      `${megabytes(whole)} are more than a tab can hold; it opens up to ${megabytes(MOST_BYTES)}. The command line has no such limit: \`wakeful why\`, \`wakeful log\``,
    );
  }
  return file;
}

/** The files that were chosen in a dialog. */
export async function chosen(list: readonly File[]): Promise<{ name: string; files: Files }> {
  const files: Files = {};
  for (const file of list) {
    files[
      file.webkitRelativePath === "" ? file.name : file.webkitRelativePath.replace(/^[^/]*\//, "")
    ] = fitting(file, files);
  }
  const [first] = list;
  const folder = first?.webkitRelativePath.split("/")[0] ?? "";
  return {
    name:
      folder !== ""
        ? folder
        : list.length === 1
          ? (first?.name ?? "")
          : nameOf(list.map(({ name }) => name)),
    files,
  };
}
