// What is said when the storage of the browser is full.
import { useEffect, useState } from "react";

import { size } from "../document/files.ts";
import { storageUsed } from "./full.ts";

/** The share of the allowed size from which it explains by itself that nothing more fits. */
const MOSTLY = 0.9;

/** The time between two looks at the storage, in milliseconds. */
const LOOK_MS = 2_000;

/** That it is full, how much is used, and what to do. */
export function StorageFull() {
  const [told, setTold] = useState<Awaited<ReturnType<typeof storageUsed>>>(null);
  useEffect(() => {
    let stays = true;
    const look = () => void storageUsed().then((found) => stays && setTold(found));
    look();
    const timer = setInterval(look, LOOK_MS);
    return () => {
      stays = false;
      clearInterval(timer);
    };
  }, []);
  return (
    <div className="live-refused">
      <p>
        The browser's storage for this page is full
        {told !== null && `: ${size(told.used)} of ${size(told.of)} are used`}.
        {told !== null &&
          told.used < told.of * MOSTLY &&
          " The disk has no more room than that, or the browser allows less than it says."}
      </p>
      <p>
        Nothing that is stored is lost, and what you said is tried again every second. Keep this
        page open, and make room: remove documents that you no longer need, or remove data of other
        sites in the settings of the browser. You can also export this ledger and then discard it.
      </p>
    </div>
  );
}
