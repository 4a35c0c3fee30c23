// The focus of the keyboard: it goes to a part of the page on command, and stays near when the
// element that had it is removed.

/** The parts of the page that a person can go to at once. */
export const PARTS = {
  sentence: { name: "the sentence", selector: ".sentence" },
  panes: { name: "the panes", selector: ".panes [role=tab][aria-selected=true]" },
  entries: { name: "the entries", selector: "[role=listbox][aria-label=entries]" },
  list: { name: "the list of documents", selector: ".cases input[type=search]" },
} as const;

/** One of them. */
export type Part = keyof typeof PARTS;

const FOCUSABLE = [
  "button:not(:disabled)",
  "input:not(:disabled, [hidden])",
  "select:not(:disabled)",
  "textarea:not(:disabled)",
  "summary",
  "a[href]",
  "[tabindex='0']",
].join();

/** Moves the focus to a part of the page. Returns whether the part is there. */
export function focusOn(part: Part): boolean {
  return focusElement(document.querySelector<HTMLElement>(PARTS[part].selector));
}

function focusElement(element: HTMLElement | null | undefined): boolean {
  if (element == null) {
    return false;
  }
  // A heading takes the focus only if it is told to.
  if (!element.matches(`${FOCUSABLE}, [tabindex]`)) {
    element.tabIndex = -1;
  }
  element.focus({ preventScroll: false });
  return document.activeElement === element;
}

/** The place of an element that may go: its ancestors, and its position among focusable ones. */
interface Place {
  element: Element;
  within: { ancestor: Element; index: number }[];
}

/**
 * Keeps the focus near: if the focused element is removed or disabled, its neighbour gets the focus
 * instead of the whole page. Dialogs and menus return the focus by themselves.
 */
export function keepFocus(): void {
  let last: Place | null = null;
  const settle = () => {
    if (last === null || !isLost(last.element)) {
      return;
    }
    const place = last;
    last = null;
    rescue(place);
  };
  document.addEventListener("focusin", ({ target }) => {
    last = target instanceof Element ? placeOf(target) : null;
  });
  document.addEventListener("pointerdown", () => {
    // Who points chooses the next place.
    last = null;
  });
  new MutationObserver(() => {
    if (last !== null && isLost(last.element)) {
      // A dialog that closes, and code that moves the focus on purpose, come first.
      setTimeout(settle);
    }
  }).observe(document.documentElement, {
    childList: true,
    subtree: true,
    attributeFilter: ["disabled"],
  });
}

function isLost(element: Element): boolean {
  const { activeElement, body } = document;
  const isGone = !element.isConnected || element.matches(":disabled");
  return isGone && (activeElement === null || activeElement === body || activeElement === element);
}

function placeOf(element: Element): Place {
  const within: Place["within"] = [];
  for (let ancestor = element.parentElement; ancestor !== null; ancestor = ancestor.parentElement) {
    // The whole page is not near.
    if (ancestor.matches("main, body, html, #root, .workbench")) {
      break;
    }
    within.push({
      ancestor,
      index: [...ancestor.querySelectorAll(FOCUSABLE)].indexOf(element),
    });
  }
  return { element, within };
}

function rescue({ within }: Place): void {
  for (const { ancestor, index } of within) {
    if (ancestor.isConnected) {
      const near = [...ancestor.querySelectorAll<HTMLElement>(FOCUSABLE)];
      const next = near[Math.max(0, Math.min(near.length - 1, index))];
      if (focusElement(next)) {
        return;
      }
    }
  }
  focusOn("sentence");
}
