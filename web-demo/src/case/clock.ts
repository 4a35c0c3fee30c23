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
