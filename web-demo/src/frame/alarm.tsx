// What went wrong, in the core's own words, with the place where there is one.
import type { ErrorReport } from "@package/payloads.js";

/** An alarm: a message, or the core's report; it can be dismissed where what was open is still open. */
export function Alarm({ title, message, error, dismiss }: { title: string; message?: string; error?: ErrorReport; dismiss?: () => void }) {
  const place = error?.place;
  return (
    <section className="alarm" role="alert">
      <h2>{title}</h2>
      <p>{message ?? error?.message}</p>
      {place != null && (
        <p className="alarm-place">
          {place.file != null && <code>{place.file}</code>} line {place.line}, column {place.column}
          {place.path !== "" && (
            <>
              , field <code>{place.path}</code>
            </>
          )}
        </p>
      )}
      {dismiss !== undefined && (
        <button type="button" className="quiet" onClick={dismiss}>
          Dismiss
        </button>
      )}
    </section>
  );
}
