// A sentence of the core.

/** It has names between backticks. */
export function Said({ sentence }: { sentence: string }) {
  return sentence
    .split("`")
    .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
