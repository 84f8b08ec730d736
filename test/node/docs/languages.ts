/** What docs/other-languages.md says for a language is done: a servlet is made, and its build is told. */
import { join } from "node:path";
import { readPage } from "./pages.ts";
import { runShell } from "./shell.ts";

const { blocks } = await readPage("docs/other-languages.md");

/** A servlet that the page's line has made in a copy of the project. */
export interface Made {
  /** Its folder. */
  servlet: string;
  /** What the command that made it has printed. */
  told: string;
  /** The lines that build it. */
  build: string[];
}

/** Runs the lines of the section with this heading, up to that which makes the servlet. */
export async function makeServlet(heading: string, copy: string): Promise<Made> {
  const lines = blocks
    .filter(({ section, language }) => section === heading && language === "sh")
    .flatMap(({ text }) => text.trim().split("\n"));
  const made = lines.findIndex((line) => line.startsWith("npm run servlets -- new"));
  const name = / new (\S+)/.exec(lines[made]!)![1]!;
  const told = await runShell(copy, lines.slice(0, made + 1).join("\n"), {});
  return { servlet: join(copy, "plugins", name), told, build: lines.slice(made + 1) };
}
