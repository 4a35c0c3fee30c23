// What went wrong, in the core's own words, which say where, too.
import type { Trouble } from "../document/messages.ts";
import { Said } from "../parts/said.tsx";

/** An alarm; it can be dismissed where what was open is still open. */
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
      <h2>{title}</h2>
      <p>
        <Said sentence={error.message} />
      </p>
      {dismiss !== undefined && (
        <button type="button" className="quiet" onClick={dismiss}>
          Dismiss
        </button>
      )}
    </section>
  );
}
