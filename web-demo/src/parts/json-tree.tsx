// A JSON value as a tree that opens and closes.
import { JsonView, type Props } from "react-json-view-lite";

import { visibleIn } from "./visible.ts";

const STYLE: NonNullable<Props["style"]> = {
  container: "json",
  basicChildStyle: "json-child",
  childFieldsContainer: "json-children",
  label: "json-label",
  clickableLabel: "json-label json-clickable",
  nullValue: "json-null",
  undefinedValue: "json-null",
  numberValue: "json-number",
  stringValue: "json-string",
  booleanValue: "json-boolean",
  otherValue: "json-other",
  punctuation: "json-punctuation",
  expandIcon: "json-expand",
  collapseIcon: "json-collapse",
  collapsedContent: "json-collapsed",
  noQuotesForStringValues: false,
  quotesForFieldNames: false,
  stringifyStringValues: true,
  ariaLables: { collapseJson: "close", expandJson: "open" },
};

/** The tree of a value, open down to a depth. */
export function JsonTree({ value, depth, label }: { value: object; depth: number; label: string }) {
  return (
    <JsonView
      data={visibleIn(value)}
      style={STYLE}
      shouldExpandNode={(level) => level < depth}
      clickToExpandNode
      aria-label={label}
    />
  );
}
