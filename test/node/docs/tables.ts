/** Tables in Markdown, and where they stand in a page. */

const row = (...cells: string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;

export const table = (head: string[], rows: string[][]): string =>
  [row(...head), row(...head.map(() => "---")), ...rows.map((cells) => row(...cells))].join("\n");

export const code = (text: unknown): string => `\`${String(text)}\``;

/** The text of a page with what was made between the markers of this name, if it has them. */
export const replaced = (text: string, name: string, made: string): string =>
  text.replace(
    new RegExp(`(<!-- ${name}: [^>]*-->\n)[^]*?(<!-- /${name} -->)`),
    (_whole, begin: string, end: string) => `${begin}${made}\n${end}`,
  );
