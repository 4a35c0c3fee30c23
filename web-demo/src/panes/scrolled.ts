// The part of a long list that can be scrolled to.

/**
 * The most entries that can be scrolled to from one place of the cursor. No browser lays out a page
 * of any height: Firefox ends at 17 million pixels, Chromium at 33 million.
 */
export const MOST_ROWS = 200_000;

/**
 * The first entry of a list that can be scrolled to while the cursor is at an entry. It changes
 * only when the cursor has gone far.
 */
export function beginAround(at: number, length: number): number {
  const half = MOST_ROWS / 2;
  const begin = Math.round(at / half) * half - half;
  return Math.max(0, Math.min(length - MOST_ROWS, begin));
}
