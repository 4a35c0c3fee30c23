// A link that carries a small ledger beside the entry. The ledger is in the address's fragment,
// which browsers do not send.
import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";

import { fragment, type View } from "./address.ts";

/** The longest link. Messengers and mail pass on links of this length. */
export const MOST_LETTERS = 32_000;

/** The content of a link. */
export interface Carried {
  name: string;
  ledger: string;
}

/** The fragment of a link with a ledger; null if it would be too long. */
export function carrying({ name, ledger }: Carried, seq: number, view: View): string | null {
  const link = fragment({ name, seq, view }, base64url(deflateSync(strToU8(ledger), { level: 9 })));
  return link.length > MOST_LETTERS ? null : link;
}

/** The content of a fragment, if there is one. */
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
