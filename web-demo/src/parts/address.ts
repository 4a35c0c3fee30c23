// The page's address names what is shown, as `#document/entry/view`, so that it can be sent and
// survives a reload. A fourth part is a ledger from a link.

/** The view: the open panels, and the supposed edition. */
export interface View {
  why?: string | undefined;
  what?: string | undefined;
  edition?: string | undefined;
}

/** The parts of the address. */
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

/** The fragment of an address, with a packed ledger if there is one. */
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
 * Writes the address without a new step in the browser's history. A ledger in the address stays in
 * it.
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
 * Calls back if a link is followed or pasted, but not for `writeAddress`. Returns the function that
 * ends it.
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
    // A malformed percent sign makes the address empty.
    return "";
  }
}
