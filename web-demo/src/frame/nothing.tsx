// What the page shows while no document is open.
import { useEffect, useState, type ReactNode } from "react";

/**
 * How to open something, and the live agent, which needs no document. `showLive` keeps its panel
 * open beside the document that it makes.
 */
export function Nothing({ live, showLive }: { live: ReactNode; showLive: () => void }) {
  const [isLive, setLive] = useState(false);
  // The first document opens a moment after the page, and a flash would only distract.
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 400);
    return () => clearTimeout(timer);
  }, []);
  if (!late) {
    return <h1 className="unseen">Wakeful workbench</h1>;
  }
  return (
    <>
      <header className="heading">
        <h1 className="sentence" tabIndex={-1}>
          Nothing is open
        </h1>
        <p className="shows nothing-shows">
          Drop a ledger, a story or a fixture folder on this page, paste one, or use{" "}
          <em>Open file</em>.
        </p>
        <button
          type="button"
          className="quiet"
          aria-expanded={isLive}
          onClick={() => {
            setLive(!isLive);
            showLive();
          }}
        >
          Live agent
        </button>
      </header>
      {isLive && <div className="nothing-live">{live}</div>}
    </>
  );
}
