// Words of the command line, in commands that the page prints.

/** A word as a shell takes it. Names without special letters stay as they are. */
export function quoted(word: string): string {
  const isPlain = /^[\w@%+=:,./-]+$/.test(word) && !word.startsWith("-");
  const path = word.startsWith("-") ? `./${word}` : word;
  return isPlain ? word : `'${path.replaceAll("'", `'\\''`)}'`;
}
