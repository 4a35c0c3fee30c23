// The page's address names what is looked at, as `#document/entry`, so that it can be sent to somebody and survives a reload.

/** What the address names. */
export interface Address {
  name: string | null;
  seq: number | null;
}

/** Reads the address. */
export function readAddress(): Address {
  const [name = "", seq = ""] = location.hash.slice(1).split("/").map(decoded);
  const number = /^\d+$/.test(seq) ? Number(seq) : null;
  return { name: name === "" ? null : name, seq: number !== null && number >= 1 ? number : null };
}

/** Writes the address, without a new place in the history for every entry. A ledger that came in it stays in it. */
export function writeAddress(address: { name: string; seq: number }) {
  const name = encodeURIComponent(address.name);
  const [before, , packed] = location.hash.slice(1).split("/");
  history.replaceState(null, "", `#${name}/${address.seq}${before === name && packed !== undefined ? `/${packed}` : ""}`);
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
