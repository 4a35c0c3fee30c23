// Instants for people: UTC, as short as they stay clear.

/** An instant next to another: no date on the same day, no seconds where they are zero. */
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
