// Texts of models, commands and ledgers, with the characters written out that a reader does not see
// but a page obeys: controls, marks that change the direction of a line, separators, and characters
// without a form. The command line writes out the same ones. Line breaks, tabs and the two joiners
// stay, because texts and scripts need them.

const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** The text with what is unseen written out as JSON does: `\u001b`. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (unseen) =>
    [...Array(unseen.length).keys()]
      .map((at) => `\\u${unseen.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** A value of JSON with all its texts made visible, and its names. */
export function visibleIn<T>(value: T): T {
  return seen(value) as T;
}

function seen(value: unknown): unknown {
  if (typeof value === "string") {
    return visible(value);
  }
  if (Array.isArray(value)) {
    return value.map(seen);
  }
  // Other objects, such as maps of the guest, are not JSON.
  if (
    value !== null &&
    typeof value === "object" &&
    Object.getPrototypeOf(value) === Object.prototype
  ) {
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [visible(name), seen(one)]),
    );
  }
  return value;
}

/** The most characters of a name or an id in a line; the whole of it is in its title. */
const MOST = 36;

/**
 * A long name or id with its middle left out. Ends tell ids apart, and beginnings say what they are
 * of.
 */
export function shortened(text: string, most = MOST): string {
  if (text.length <= most) {
    return text;
  }
  const end = Math.floor((most - 1) / 3);
  return `${text.slice(0, most - 1 - end)}…${text.slice(-end)}`;
}

const FINE = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z/g;

/** The text with its instants in seconds. */
export function inSeconds(text: string): string {
  return text.replaceAll(FINE, "$1Z");
}
