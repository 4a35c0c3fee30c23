// A sentence of the core.
import { inSeconds, shortened } from "./visible.ts";

/**
 * Text between backticks is shown as code. A long id is shortened; its title has all of it.
 * Instants are shown in seconds; entries have the rest.
 */
export function Said({ sentence }: { sentence: string }) {
  return sentence.split("`").map((part, index) => {
    // A command is read as a whole.
    const short = /\s/.test(part) ? part : shortened(part);
    return index % 2 === 0 ? (
      inSeconds(part)
    ) : short === part ? (
      <code key={index}>{part}</code>
    ) : (
      <code key={index} title={part}>
        {short}
      </code>
    );
  });
}
