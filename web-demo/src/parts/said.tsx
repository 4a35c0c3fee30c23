// A sentence of the core.
import { shortened } from "./visible.ts";

/** Text between backticks is shown as code. A long id is shortened; its title has all of it. */
export function Said({ sentence }: { sentence: string }) {
  return sentence.split("`").map((part, index) => {
    // A command is read as a whole.
    const short = /\s/.test(part) ? part : shortened(part);
    return index % 2 === 0 ? (
      part
    ) : short === part ? (
      <code key={index}>{part}</code>
    ) : (
      <code key={index} title={part}>
        {short}
      </code>
    );
  });
}
