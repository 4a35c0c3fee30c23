// What went wrong, in the core's own words, with the place where there is one.
import type { Trouble } from "../document/messages.ts";

/** An alarm; it can be dismissed where what was open is still open. */
export function Alarm({ title, error: { message, place }, dismiss }: { title: string; error: Trouble; dismiss?: () => void }) {
  return (
    <section className="alarm" role="alert">
      <h2>{title}</h2>
      <p>{message}</p>
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
