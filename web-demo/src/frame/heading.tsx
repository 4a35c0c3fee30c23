// The top of the page: what is open, whether the native core agrees, and the headline.
import type { ReactNode } from "react";

import { dateAndTime } from "../case/clock.ts";
import type { Open } from "../document/use-document.ts";
import { useRows } from "../document/use-rows.ts";
import { ThemeSwitch } from "../parts/theme-switch.tsx";
import { shortened } from "../parts/visible.ts";
import type { Note } from "../workspace/keeping.ts";
import { Export } from "./export.tsx";

/** The heading of an open document. */
export function Heading(props: {
  open: Open;
  seq: number;
  notes: readonly Note[];
  goTo: (seq: number) => void;
  fail: (name: string, error: unknown) => void;
  fork: (facts: string[]) => void;
  acts: readonly string[] | null;
  /** Whether all entries were read. From a snapshot, only those after it are read at first. */
  isWhole: boolean;
  /** The headline. */
  children: ReactNode;
}) {
  const { open, seq } = props;
  const row = useRows(open, [seq]).get(seq);
  return (
    <header className="heading">
      <div className="heading-case">
        <span className={`kind kind-${open.kind}`}>{open.kind}</span>
        <span className="name" title={open.name}>
          {shortened(open.name)}
        </span>
        <span className="clock">{row !== undefined && `${dateAndTime(row.at)} UTC`}</span>
        <VerdictBadge open={open} isWhole={props.isWhole} goTo={props.goTo} />
        <Export open={open} seq={seq} notes={props.notes} fail={props.fail} acts={props.acts} />
        <button
          type="button"
          className="quiet"
          title="Copy the entries up to here into a fork that can be changed"
          onClick={() => props.fork([])}
        >
          Fork here
        </button>
        <ThemeSwitch />
      </div>
      <div className="heading-text">{props.children}</div>
    </header>
  );
}

function VerdictBadge({
  open,
  isWhole,
  goTo,
}: {
  open: Open;
  isWhole: boolean;
  goTo: (seq: number) => void;
}) {
  const { verdict, name } = open;
  if (verdict.native === "none") {
    return (
      <span
        className="badge badge-none"
        data-case={name}
        data-verdict="none"
        title="Each entry was checked against the hash of the one before. The hash of the newest begins so."
      >
        Verified{!isWhole && ` from #${open.snapshot + 1}`}, {open.head.chain.slice(0, 8)}
      </span>
    );
  }
  if (verdict.native === "equal") {
    return (
      <span
        className="badge badge-good"
        data-case={name}
        data-verdict="equal"
        title={`The hash of the whole history is ${verdict.chain}`}
      >
        ✓ Head equals native <code>{verdict.chain.slice(0, 8)}</code>
      </span>
    );
  }
  const where = verdict.entry === null ? verdict.part : `entry ${verdict.entry}`;
  return (
    <button
      type="button"
      className="badge badge-bad"
      data-case={name}
      data-verdict="differs"
      onClick={() => verdict.entry !== null && goTo(verdict.entry)}
    >
      ✗ Differs from native at step {verdict.step + 1}, {where}
    </button>
  );
}
