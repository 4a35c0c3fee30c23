// An error, in the core's own words, with its place.
import type { Trouble } from "../document/messages.ts";
import { Said } from "../parts/said.tsx";
import { visible } from "../parts/visible.ts";

/** An alarm. It can be dismissed if the previous document is still open. */
export function Alarm({
  title,
  error,
  dismiss,
}: {
  title: string;
  error: Trouble;
  dismiss?: () => void;
}) {
  return (
    <section className="alarm" role="alert">
      <h2>{visible(title)}</h2>
      <p>
        <Said sentence={visible(error.message)} />
      </p>
      {dismiss !== undefined && (
        <button type="button" className="quiet" onClick={dismiss}>
          Dismiss
        </button>
      )}
    </section>
  );
}
