// The band of a supposition: while one is set, nothing on the page is as recorded.
import { POLICY, type PolicyField } from "../case/labels.ts";
import type { Supposed } from "../document/messages.ts";

/** The band; nothing without a supposition. */
export function Supposing({ supposed, end }: { supposed: Supposed | undefined; end: () => void }) {
  if (supposed === undefined) {
    return null;
  }
  const parts = [
    ...(supposed.edition === undefined ? [] : [`edition ${supposed.edition}`]),
    ...Object.entries(supposed.policy ?? {}).map(
      ([name, value]) => `${POLICY[name as PolicyField] ?? name}: ${String(value)}`,
    ),
  ];
  return (
    <section className="supposed" role="status" aria-label="supposition">
      <span>
        <strong>Supposed, not recorded:</strong> {parts.join(", ")}
      </span>
      <button type="button" className="quiet" onClick={end}>
        As recorded
      </button>
    </section>
  );
}
