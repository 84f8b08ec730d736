import { access, glob, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** A fenced block of a page. */
export interface Block {
  /** The heading that it is under. */
  section: string;
  language: string;
  /** Text after the language on the opening line: usually the block's file name. */
  file: string;
  text: string;
}

/** A document for people. */
export interface Page {
  path: string;
  text: string;
  blocks: Block[];
}

export async function readPage(path: string): Promise<Page> {
  const text = await readFile(path, "utf8");
  const blocks: Block[] = [];
  let section = "";
  let open: Block | undefined;
  for (const line of text.split("\n")) {
    const fence = /^```(\w*) ?(.*)$/.exec(line);
    if (open !== undefined && fence === null) open.text += `${line}\n`;
    else if (open !== undefined) open = undefined;
    else if (fence !== null)
      blocks.push((open = { section, language: fence[1]!, file: fence[2]!, text: "" }));
    else section = /^#+ (.*)$/.exec(line)?.[1] ?? section;
  }
  return { path, text, blocks };
}

/** All documents of the project. */
export async function allPages(): Promise<Page[]> {
  const paths = await Array.fromAsync(
    glob(["*.md", "docs/**/*.md", "plugins/README.md", "src/**/README.md", "test/**/README.md"]),
  );
  return Promise.all(paths.toSorted().map(readPage));
}

/** The anchor that GitHub gives a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/** Those of a page's relative links whose file or heading is not there. */
export async function brokenLinks(links: readonly string[], page: string): Promise<string[]> {
  const broken = links.map(async (link) => {
    const [file, anchor] = link.split("#") as [string, string?];
    const linked = file === "" ? page : join(dirname(page), file);
    try {
      await access(linked);
      if (anchor === undefined) return [];
      const headings = (await readFile(linked, "utf8")).matchAll(/^#+ (.*)$/gm);
      return [...headings].some(([, heading]) => anchorOf(heading!) === anchor) ? [] : [link];
    } catch {
      return [link];
    }
  });
  return (await Promise.all(broken)).flat();
}
