// Instants for people: in UTC, as short as is clear.

/**
 * An instant beside another one: without the date on the same day, and without seconds if they are
 * zero.
 */
export function clockTime(text: string, now: string): string {
  const [day = "", time = ""] = new Date(text).toISOString().split("T");
  const [today] = new Date(now).toISOString().split("T");
  const short = time.slice(6, 8) === "00" ? time.slice(0, 5) : time.slice(0, 8);
  return day === today ? short : `${day} ${short}`;
}

/** A date and a time. */
export function dateAndTime(instant: string): string {
  return instant.replace("T", " ").replace("Z", "");
}

/** How long something lasts, in at most two units: `3 min`, `2 h 5 min`, `4 d 1 h`. */
export function lasts(ms: number): string {
  const units = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["min", 60_000],
    ["s", 1_000],
  ] as const;
  const first = units.findIndex(([, length]) => ms >= length);
  if (first === -1) {
    return "less than a second";
  }
  let rest = ms;
  const parts = units.slice(first, first + 2).flatMap(([name, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count === 0 ? [] : [`${count} ${name}`];
  });
  return parts.join(" ");
}
