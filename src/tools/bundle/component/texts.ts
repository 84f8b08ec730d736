/** Texts in AssemblyScript that has no data: as numbers, eight bytes at a time. */

/** The numbers of these bytes, eight at a time, with how many each has. */
function words(text: string): { bytes: string; length: number; at: number }[] {
  const all = Buffer.from(text);
  return Array.from({ length: Math.ceil(all.length / 8) }, (_, index) => {
    const part = all.subarray(index * 8, index * 8 + 8);
    const padded = Buffer.alloc(8);
    part.copy(padded);
    const bytes = `0x${padded.readBigUInt64LE().toString(16)}`;
    return { bytes, length: part.length, at: index * 8 };
  });
}

/** Statements that write a text. */
export const writeText = (text: string): string =>
  words(text)
    .map(({ bytes, length }) => `word(${bytes}, ${length});`)
    .join(" ");

/** True if this text is next in the input. */
export const is = (text: string): string =>
  words(text)
    .map(({ bytes, length, at }) => `same(at + ${at}, ${bytes}, ${length})`)
    .join(" && ");

const literal = (quoted: string): string =>
  quoted.startsWith("'") ? quoted.slice(1, -1) : (JSON.parse(quoted) as string);

/** Source with its `text(…)`, and its `trap(…)` for a rule of the component model that was broken, replaced. */
export const withTexts = (source: string): string =>
  source.replaceAll(
    /\b(text|trap)\(("(?:[^"\\]|\\.)*"|'[^']*')\);/g,
    (_, what: string, quoted: string) => {
      const written = writeText(literal(quoted));
      return what === "text" ? `{ ${written} }` : `{ beginTrap(); ${written} abortCall(); }`;
    },
  );
