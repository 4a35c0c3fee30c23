// One live region for the page. It says only what holds for a moment, so that a held key does not
// make a screen reader talk without end.
import { useEffect, useState } from "react";

/** The time without a change after which something is said, in milliseconds. */
const QUIET_MS = 600;

/** Says a text once it stays the same. The first text of the component is not said. */
export function Announced({ text }: { text: string }) {
  const [first] = useState(text);
  const [said, setSaid] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSaid(text), QUIET_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <p className="unseen" role="status" data-announced>
      {said === first ? "" : said}
    </p>
  );
}
