// The page's address names what is looked at, as `#document/entry/view`, so that it can be sent to
// somebody and survives a reload. A fourth part is a ledger that came in a link.

/** How something is looked at: the chosen panels, and the edition that is supposed. */
export interface View {
  why?: string | undefined;
  what?: string | undefined;
  edition?: string | undefined;
}

/** What the address names. */
export interface Address {
  name: string | null;
  seq: number | null;
  view: View;
}

/** Reads the address. */
export function readAddress(): Address {
  const [name = "", seq = "", view = ""] = location.hash.slice(1).split("/").map(decoded);
  const number = /^\d+$/.test(seq) ? Number(seq) : null;
  return {
    name: name === "" ? null : name,
    seq: number !== null && number >= 1 ? number : null,
    view: Object.fromEntries(new URLSearchParams(view)),
  };
}

/** The fragment that names something, with a packed ledger where it has one. */
export function fragment(address: { name: string; seq: number; view: View }, packed = ""): string {
  const view = new URLSearchParams(
    Object.entries(address.view).filter(([, value]) => value !== undefined),
  ).toString();
  const parts = [
    encodeURIComponent(address.name),
    String(address.seq),
    encodeURIComponent(view),
    packed,
  ];
  return `#${parts.join("/").replace(/\/+$/, "")}`;
}

/**
 * Writes the address, without a new place in the history for every entry. A ledger that came in it
 * stays in it.
 */
export function writeAddress(address: { name: string; seq: number; view: View }) {
  const [before, , , packed] = location.hash.slice(1).split("/");
  history.replaceState(
    null,
    "",
    fragment(address, before === encodeURIComponent(address.name) ? packed : ""),
  );
}

/**
 * Calls back when somebody else writes the address: a link that is followed or pasted, not
 * `writeAddress`. Gives the end of it.
 */
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
