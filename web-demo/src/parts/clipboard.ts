// The clipboard, which a browser gives only to pages on https or localhost.

/** Copies a text. Rejects with what is missing if the browser does not allow it. */
export async function copyText(text: string): Promise<void> {
  const { clipboard } = navigator as Partial<Navigator>;
  if (clipboard === undefined) {
    throw new Error("this browser lets only pages on https or localhost copy: use Export instead");
  }
  await clipboard.writeText(text);
}
