// A pane: a heading, a note beside it, and a body that scrolls by itself.
import type { ReactNode, Ref } from "react";

/** One of the columns below the decision. */
export function Pane({ title, note, body, children }: { title: string; note?: ReactNode; body?: Ref<HTMLDivElement>; children: ReactNode }) {
  return (
    <section className={`pane pane-${title.toLowerCase()}`} aria-label={title}>
      <header className="pane-head">
        <h2>{title}</h2>
        <span className="note">{note}</span>
      </header>
      <div className="pane-body" ref={body}>
        {children}
      </div>
    </section>
  );
}
