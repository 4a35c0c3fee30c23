// Numbers for people.

/** A number with its thousands apart. */
export function grouped(number: number): string {
  return number.toLocaleString("en");
}

/** A number of things, such as `1 delivery` or `2 deliveries`. What is not a number counts as 0. */
export function counted(number: unknown, one: string, more = `${one}s`): string {
  const count = typeof number === "number" ? number : 0;
  return `${grouped(count)} ${count === 1 ? one : more}`;
}
