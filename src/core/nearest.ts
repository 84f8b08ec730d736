/** The longest name that is compared: it takes time by the product of two lengths. */
const LONGEST = 64;

/** The known name that was probably meant by this one; undefined if none is close. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > LONGEST) return undefined;
  const most = Math.min(3, Math.floor(name.length / 3));
  let found: { name: string; distance: number } | undefined;
  for (const one of known) {
    if (Math.abs(one.length - name.length) > most) continue;
    const distance = distanceOf(one.toLowerCase(), name.toLowerCase(), most);
    if (distance < (found?.distance ?? Infinity)) found = { name: one, distance };
  }
  return found?.name;
}

/** Levenshtein's distance between two words; infinite if it is more than `most`. */
function distanceOf(a: string, b: string, most: number): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
    if (Math.min(...row) > most) return Infinity;
  }
  return row[b.length]! > most ? Infinity : row[b.length]!;
}
