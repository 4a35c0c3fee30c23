// Tokens of external triggers, as a host makes them: random, and given away once. The ledger has
// only their hash.

/** The beginning of every token, and its number of random bytes. */
const BEGINS = "wkt_";
const BYTES = 32;

/** A new token. Those who have it can deliver. */
export function newToken(): string {
  return BEGINS + hex(crypto.getRandomValues(new Uint8Array(BYTES)));
}

/** The hash of a token, for the ledger: SHA-256. */
export async function hashOf(token: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return hex(new Uint8Array(bytes));
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
