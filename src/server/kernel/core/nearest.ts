/** The longest name that is compared: the time grows with the product of the two lengths. */
const LONGEST = 64;

/** The known name that was probably meant; undefined if none is close. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > LONGEST) return undefined;
  const most = Math.min(3, Math.floor(name.length / 3));
  let found: { name: string; distance: number } | undefined;
  for (const one of known) {
    if (Math.abs(one.length - name.length) > most) continue;
    const distance = distanceOf(one.toLowerCase(), name.toLowerCase(), most);
    if (distance <= most && distance < (found?.distance ?? Infinity))
      found = { name: one, distance };
  }
  return found?.name;
}

/**
 * Levenshtein distance between two words; any number above `most` if it exceeds that, so that only cells near the
 * diagonal count.
 */
function distanceOf(a: string, b: string, most: number): number {
  const far = most + 1;
  let row = Uint8Array.from({ length: b.length + 1 }, (_, at) => Math.min(at, far));
  let next = new Uint8Array(b.length + 1).fill(far);
  for (let i = 1; i <= a.length; i++) {
    const from = Math.max(1, i - most);
    let least = (next[from - 1] = from === 1 ? Math.min(i, far) : far);
    for (let j = from; j <= Math.min(b.length, i + most); j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const one = Math.min(swap, row[j]! + 1, next[j - 1]! + 1, far);
      next[j] = one;
      least = Math.min(least, one);
    }
    if (least === far) return far;
    [row, next] = [next, row];
  }
  return row[b.length]!;
}
