// Colours for a canvas, which cannot resolve `light-dark()` or know of forced colours.

const FORCED = "(forced-colors: active)";
const CONTRAST = "(prefers-contrast: more)";

/** The name of the colours that are in force. What was drawn under another one is old. */
export function coloursNow(): string {
  const theme = document.documentElement.dataset["theme"] ?? "";
  return [theme, matchMedia(FORCED).matches, matchMedia(CONTRAST).matches].join(" ");
}

/** Calls back when other colours are in force. Returns the function that ends it. */
export function onColours(changed: () => void): () => void {
  const theme = new MutationObserver(changed);
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const media = [matchMedia(FORCED), matchMedia(CONTRAST)];
  media.forEach((query) => query.addEventListener("change", changed));
  return () => {
    theme.disconnect();
    media.forEach((query) => query.removeEventListener("change", changed));
  };
}

/** The colour of a custom property, as a canvas takes it. */
export function colour(name: string): string {
  const key = `${coloursNow()} ${name}`;
  const known = RESOLVED.get(key);
  if (known !== undefined) {
    return known;
  }
  const probe = document.createElement("span");
  // The browser would replace the colour before it is read.
  probe.style.setProperty("forced-color-adjust", "none");
  probe.style.color = `var(${name})`;
  document.documentElement.append(probe);
  const painted = getComputedStyle(probe).color;
  probe.remove();
  RESOLVED.set(key, painted);
  return painted;
}

const RESOLVED = new Map<string, string>();
