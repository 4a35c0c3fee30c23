// A pane: a title, and a body that scrolls separately.
import type { ReactNode, Ref } from "react";

/** A pane, under a tab or beside the tabs. */
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
      <h2 className="unseen">{title}</h2>
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
