/** Maps places in a bundled script to the author's files. */
import { relative, resolve } from "node:path";
import { decode, type SourceMapMappings } from "@jridgewell/sourcemap-codec";

export class SourceLocations {
  readonly #files: string[];
  readonly #lines: SourceMapMappings;

  /** `map` is the source map of a script, whose sources are relative to the working folder. */
  constructor(map: string) {
    const { sources, mappings } = JSON.parse(map) as { sources: string[]; mappings: string };
    this.#files = sources.map((file) => relative(".", resolve(decodeURIComponent(file))));
    this.#lines = decode(mappings);
  }

  /** The author's `file:line:column`, from a line and a column of the script that count from 0. */
  at(line: number, column: number): string | undefined {
    const before = (this.#lines[line] ?? []).filter(([at]) => at <= column);
    const [, source, sourceLine, sourceColumn] = before.at(-1) ?? [];
    if (source === undefined || sourceLine === undefined || sourceColumn === undefined) return;
    return `${this.#files[source]}:${sourceLine + 1}:${sourceColumn + 1}`;
  }

  /**
   * A table for the prelude to read: the sources, and for each line of the script its source's number and its line
   * there, as differences from the line before. `n` alone stands for n lines that each continue the one before.
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
      // All lines are indented: a mapping at column 0 belongs to the line before.
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
