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

/**
 * How long the cursor rests before the address names its entry, in milliseconds. A browser fetches
 * the icon of the page again with each address, and Safari takes no more than 100 of them in 30
 * seconds.
 */
const RESTS_MS = 150;

/** The fragment that the browser does not have yet. */
let waiting: { fragment: string; timer: ReturnType<typeof setTimeout> } | null = null;

/** Reads the address. */
export function readAddress(): Address {
  const [name = "", seq = "", view = ""] = newest().slice(1).split("/").map(decoded);
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
 * Writes the address. A ledger in the address stays in it. Another document is a step in the
 * browser's history, and so is a jump; a move is not.
 */
export function writeAddress(address: { name: string; seq: number; view: View }, isJump = false) {
  const [before = "", , , packed] = newest().slice(1).split("/");
  const isSame = before === encodeURIComponent(address.name);
  const next = fragment(address, isSame ? packed : "");
  if (next === newest()) {
    return;
  }
  if (before !== "" && (!isSame || isJump)) {
    tell();
    history.pushState(null, "", next);
  } else if (isSame) {
    forget();
    waiting = { fragment: next, timer: setTimeout(tell, RESTS_MS) };
  } else {
    history.replaceState(null, "", next);
  }
}

/** The newest fragment, which the browser may not have yet. */
function newest(): string {
  return waiting?.fragment ?? location.hash;
}

/** Tells the browser of the newest fragment. */
function tell() {
  if (waiting !== null) {
    const { fragment } = waiting;
    forget();
    history.replaceState(null, "", fragment);
  }
}

function forget() {
  clearTimeout(waiting?.timer);
  waiting = null;
}

/**
 * Calls back if a link is followed or pasted, but not for `writeAddress`. Returns the function that
 * ends it.
 */
export function onAddress(changed: (address: Address) => void): () => void {
  const hear = ({ newURL }: HashChangeEvent) => {
    // A person who goes elsewhere comes first, also if the page wrote its address since then.
    forget();
    const { hash } = new URL(newURL);
    if (location.hash !== hash) {
      history.replaceState(null, "", hash);
    }
    changed(readAddress());
  };
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
