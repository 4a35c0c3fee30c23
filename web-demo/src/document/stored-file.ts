// Lets SQLite read files of this computer where they are. The file systems of the library would
// copy a file into its memory twice, and a file in WAL mode needs shared memory there.
import type { Sqlite3Result, Sqlite3Static } from "@sqlite.org/sqlite-wasm";

/** The name of the file system. */
export const VFS = "files-of-this-computer";

/** A file that is read at once, part by part. */
export interface Readable {
  size: number;
  /** The bytes from `from` to before `to`, or up to the end of the file. */
  read(from: number, to: number): Uint8Array;
}

/** The bytes that are read from a file at once. SQLite asks for pages of 4 kB. */
const BLOCK = 1 << 20;

/** The blocks that are kept. A tree is read at a few places at a time. */
const KEPT = 16;

/** A part of the platform that only workers have; TypeScript knows it only in their library. */
declare const FileReaderSync:
  (new () => { readAsArrayBuffer(file: Blob): ArrayBuffer }) | undefined;

/** A file as something to read. Only workers can read a part of a file at once. */
export async function readable(file: Blob): Promise<Readable> {
  if (typeof FileReaderSync === "undefined") {
    const bytes = new Uint8Array(await file.arrayBuffer());
    return { size: bytes.length, read: (from, to) => bytes.subarray(from, to) };
  }
  const reader = new FileReaderSync();
  const blocks = new Map<number, Uint8Array>();
  const block = (number: number): Uint8Array => {
    const known = blocks.get(number);
    if (known !== undefined) {
      return known;
    }
    const from = number * BLOCK;
    const read = new Uint8Array(reader.readAsArrayBuffer(file.slice(from, from + BLOCK)));
    if (blocks.size >= KEPT) {
      // A map keeps the order in which its keys were set.
      blocks.delete(blocks.keys().next().value ?? 0);
    }
    blocks.set(number, read);
    return read;
  };
  return {
    size: file.size,
    read(from, to) {
      const first = block(Math.floor(from / BLOCK));
      const begin = from % BLOCK;
      if (begin + (to - from) <= BLOCK) {
        return first.subarray(begin, begin + (to - from));
      }
      return new Uint8Array(reader.readAsArrayBuffer(file.slice(from, to)));
    },
  };
}

/**
 * Registers a file system with these files, which can only be read. It has no shared memory, so a
 * file in WAL mode needs the locking mode `exclusive`: then SQLite keeps the index of the WAL in
 * its own memory.
 */
export function registerFiles(sqlite3: Sqlite3Static, files: ReadonlyMap<string, Readable>): void {
  const { capi, wasm } = sqlite3;
  // The types lack the layout of a structure and the numbers that some methods answer.
  const { structInfo } = new capi.sqlite3_file();
  const [io, vfs] = [new capi.sqlite3_io_methods(), new capi.sqlite3_vfs()];
  const usual = new capi.sqlite3_vfs(capi.sqlite3_vfs_find(null as never));
  const heap = () => wasm.heap8u();
  const open = new Map<unknown, Readable>();
  const nothing: Readable = { size: 0, read: () => new Uint8Array() };
  // A function of its own for each method: the library gives each function one signature.
  const [refused, fine] = [() => () => capi.SQLITE_READONLY, () => () => capi.SQLITE_OK];
  Object.assign(io, { $iVersion: 1 });
  Object.assign(vfs, {
    $iVersion: 2,
    $szOsFile: structInfo.sizeof,
    $mxPathname: 512,
    ...Object.fromEntries(
      ["$xRandomness", "$xSleep", "$xCurrentTimeInt64"].map((name) => [
        name,
        Reflect.get(usual, name),
      ]),
    ),
  });
  usual.dispose();
  sqlite3.vfs.installVfs({
    io: {
      struct: io,
      methods: {
        xClose: (file) => (open.delete(file), 0),
        xRead(file, into, amount, offset) {
          // An offset is a bigint, though its type says otherwise.
          const from = Number(offset);
          const bytes = open.get(file)?.read(from, from + amount) ?? new Uint8Array();
          const to = Number(into);
          heap().set(bytes, to);
          if (bytes.length === amount) {
            return 0;
          }
          heap().fill(0, to + bytes.length, to + amount);
          return capi.SQLITE_IOERR_SHORT_READ;
        },
        xWrite: refused(),
        xTruncate: refused(),
        xSync: fine(),
        xFileSize(file, size) {
          wasm.poke(size, open.get(file)?.size ?? 0, "i64");
          return 0;
        },
        xLock: fine(),
        xUnlock: fine(),
        xCheckReservedLock: (_, answer) => (wasm.poke(answer, 0, "i32"), 0),
        xFileControl: () => capi.SQLITE_NOTFOUND,
        xSectorSize: () => 4096 as Sqlite3Result,
        xDeviceCharacteristics: fine(),
      },
    },
    vfs: {
      struct: vfs,
      name: VFS,
      methods: {
        xOpen(_, name, file, flags, opened) {
          const of = Number(name) === 0 ? "" : (wasm.cstrToJs(name) ?? "");
          const found = files.get(of);
          // SQLite makes a WAL that is not there, even to read. It stays empty.
          if (found === undefined && (flags & capi.SQLITE_OPEN_WAL) === 0) {
            return capi.SQLITE_CANTOPEN;
          }
          open.set(file, found ?? nothing);
          const made = new capi.sqlite3_file(file);
          made.$pMethods = io.pointer;
          made.dispose();
          if (Number(opened) !== 0) {
            wasm.poke(opened, flags, "i32");
          }
          return 0;
        },
        xDelete: fine(),
        xAccess(_, name, _flags, answer) {
          wasm.poke(answer, files.has(wasm.cstrToJs(name) ?? "") ? 1 : 0, "i32");
          return 0;
        },
        xFullPathname(_, name, room, into) {
          return wasm.cstrncpy(into, name, room) < room ? 0 : capi.SQLITE_CANTOPEN;
        },
      },
    },
  });
}
