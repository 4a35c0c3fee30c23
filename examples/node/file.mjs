// A file of Node for `LogLedger`: synchronous, and on the disk when `flush` returns. One process at
// a time may write it.
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from "node:fs";

/** Opens a file, and makes it where there is none. */
export function openFile(path) {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT);
  return {
    read: (buffer, { at }) => readSync(file, buffer, 0, buffer.length, at),
    write: (buffer, { at }) => writeSync(file, buffer, 0, buffer.length, at),
    truncate: (size) => ftruncateSync(file, size),
    flush: () => fsyncSync(file),
    getSize: () => fstatSync(file).size,
    close: () => closeSync(file),
  };
}
