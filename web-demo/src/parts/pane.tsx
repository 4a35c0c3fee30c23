// A pane: a line that says what it shows, and a body that scrolls by itself.
import type { ReactNode, Ref } from "react";

/** What is seen under a tab, or beside the tabs. */
export function Pane({
  title,
  note,
  body,
  children,
}: {
  title: string;
  note?: ReactNode;
  body?: Ref<HTMLDivElement>;
  children: ReactNode;
}) {
  return (
    <section className={`pane pane-${title.toLowerCase().replaceAll(" ", "-")}`} aria-label={title}>
      <header className="pane-head">{note}</header>
      <div
        className="pane-body"
        ref={body}
        tabIndex={0}
        role="group"
        aria-label={`${title}, content`}
      >
        {children}
      </div>
    </section>
  );
}
