/** Maps positions in a bundled script to the author's files. */
import { relative, resolve } from "node:path";
import { decode, type SourceMapMappings } from "@jridgewell/sourcemap-codec";

export class SourceLocations {
  readonly #files: string[];
  readonly #lines: SourceMapMappings;

  /** `map` is the script's source map. Its sources are relative to the working folder. */
  constructor(map: string) {
    const { sources, mappings } = JSON.parse(map) as { sources: string[]; mappings: string };
    this.#files = sources.map((file) => relative(".", resolve(decodeURIComponent(file))));
    this.#lines = decode(mappings);
  }

  /** The author's `file:line:column` for a zero-based line and column of the script. */
  at(line: number, column: number): string | undefined {
    const before = (this.#lines[line] ?? []).filter(([at]) => at <= column);
    const [, source, sourceLine, sourceColumn] = before.at(-1) ?? [];
    if (source === undefined || sourceLine === undefined || sourceColumn === undefined) return;
    return `${this.#files[source]}:${sourceLine + 1}:${sourceColumn + 1}`;
  }

  /**
   * The source table for the prelude: the source files, and for each line of the script the differences of its file
   * index and source line from the previous line. A single number `n` stands for n lines that each continue the
   * previous line.
   */
  table(): { files: string[]; lines: string } {
    let before = { source: 0, line: 0 };
    let following = 0;
    const steps: string[] = [];
    const flush = () => {
      if (following > 0) steps.push(String(following));
      following = 0;
    };
    for (const segments of this.#lines) {
      // All lines are indented, so a mapping at column 0 belongs to the previous line.
      const known = segments.filter(({ length }) => length > 1);
      const [, source, line] = known.find(([column]) => column > 0) ?? known[0] ?? [];
      const here = source === undefined || line === undefined ? before : { source, line };
      if (here.source === before.source && here.line === before.line + 1) following++;
      else {
        flush();
        steps.push(`${here.source - before.source},${here.line - before.line}`);
      }
      before = here;
    }
    flush();
    return { files: this.#files, lines: steps.join(";") };
  }
}
