/** CRC-32 as in zip and PNG. It tells a whole batch from one that was written in part. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) {
    rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  }
  return rest;
});

/** The checksum of these bytes, as an unsigned number of 32 bits. */
export function crc32(bytes: Uint8Array): number {
  let rest = 0xffffffff;
  for (const byte of bytes) {
    rest = (TABLE[(rest ^ byte) & 0xff] ?? 0) ^ (rest >>> 8);
  }
  return (rest ^ 0xffffffff) >>> 0;
}
