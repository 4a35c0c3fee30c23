// The page's address names what is looked at, as `#case/step`, so that it can be sent to somebody and survives a reload.

/** What the address names. */
export interface Address {
  case: string | null;
  step: number | null;
}

/** Reads the address. */
export function readAddress(): Address {
  const [name = "", step = ""] = location.hash.slice(1).split("/").map(decoded);
  const number = /^\d+$/.test(step) ? Number(step) - 1 : null;
  return { case: name === "" ? null : name, step: number !== null && number >= 0 ? number : null };
}

/** Writes the address, without a new place in the history for every step. */
export function writeAddress(address: { case: string; step: number }) {
  history.replaceState(null, "", `#${encodeURIComponent(address.case)}/${address.step + 1}`);
}

/** Calls back when somebody else writes the address: a link that is followed or pasted, not `writeAddress`. Gives the end of it. */
export function onAddress(changed: (address: Address) => void): () => void {
  const hear = () => changed(readAddress());
  window.addEventListener("hashchange", hear);
  return () => window.removeEventListener("hashchange", hear);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A hand-written address with a stray percent sign names nothing.
    return "";
  }
}
