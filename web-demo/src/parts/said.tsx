// A sentence of the core.

/** Text between backticks is shown as code. */
export function Said({ sentence }: { sentence: string }) {
  return sentence
    .split("`")
    .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
