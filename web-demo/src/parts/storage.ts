// Small texts that outlive the page. A browser may refuse to keep them, and even to be asked: then
// the page works on without them.

/** The kept text; null if there is none, or if the browser refuses. */
export function kept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keeps a text, if the browser allows it. */
export function keep(name: string, text: string): void {
  try {
    localStorage.setItem(name, text);
  } catch {
    // The choice holds until the page is closed.
  }
}
