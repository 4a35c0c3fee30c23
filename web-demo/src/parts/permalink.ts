// A link that carries what is open: a small ledger itself, beside the entry. It goes into the
// address's fragment, which browsers send to nobody.
import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";

import { fragment, type View } from "./address.ts";

/** The longest link that is made: what messengers and mail pass on whole. */
export const MOST_LETTERS = 32_000;

/** What a link carries. */
export interface Carried {
  name: string;
  ledger: string;
}

/** The fragment of a link that carries a ledger; null where it would be too long. */
export function carrying({ name, ledger }: Carried, seq: number, view: View): string | null {
  const link = fragment({ name, seq, view }, base64url(deflateSync(strToU8(ledger), { level: 9 })));
  return link.length > MOST_LETTERS ? null : link;
}

/** What a fragment carries, where it carries something. */
export function carried(link: string): Carried | null {
  const [name = "", , , packed] = link.slice(1).split("/");
  return packed === undefined || packed === ""
    ? null
    : { name: decodeURIComponent(name), ledger: strFromU8(inflateSync(bytes(packed))) };
}

function base64url(packed: Uint8Array): string {
  return btoa(strFromU8(packed, true))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

function bytes(text: string): Uint8Array {
  return strToU8(atob(text.replaceAll("-", "+").replaceAll("_", "/")), true);
}
