// Diagnostics that may be about the inside of a batch. Entries do not record their batch, but all
// entries of a batch have one instant. So the core is asked about the next entry of that instant.
import { useEffect, useState } from "react";

import type { Seen } from "../document/messages.ts";
import type { Open } from "../document/use-document.ts";
import { useRows } from "../document/use-rows.ts";
import { SeqLink } from "./seq-link.tsx";

/** Says which diagnostics are gone after the next entry, if it has the same instant. */
export function MidBatch({ open, seen }: { open: Open; seen: Seen }) {
  const { look, explanation } = seen;
  const next = look.seq + 1;
  const rows = useRows(open, next <= open.length ? [look.seq, next] : []);
  const isSameInstant = rows.has(next) && rows.get(next)?.at === rows.get(look.seq)?.at;
  const [gone, setGone] = useState<{ of: Seen; messages: string[] } | null>(null);
  useEffect(() => {
    let alive = true;
    if (isSameInstant) {
      void open.document.see({ ...look, seq: next }).then((answer) => {
        if (alive && "ok" in answer) {
          const after = new Set(answer.ok.explanation.diagnostics.map(({ message }) => message));
          const messages = explanation.diagnostics
            .map(({ message }) => message)
            .filter((message) => !after.has(message));
          setGone({ of: seen, messages });
        }
      });
    }
    return () => {
      alive = false;
    };
  }, [open, seen, look, explanation, next, isSameInstant]);
  if (gone === null || gone.of !== seen || gone.messages.length === 0) {
    return null;
  }
  return (
    <p className="note" role="note">
      Perhaps inside a batch: <SeqLink seq={next} /> has the same instant, and there{" "}
      {gone.messages.map((message) => `“${message}”`).join(", ")}{" "}
      {gone.messages.length === 1 ? "is" : "are"} gone. If both entries were stored at once, the
      agent was never in this state.
    </p>
  );
}
