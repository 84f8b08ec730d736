import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach } from "vitest";

export const KIT = 'import { defineServlet } from "edge-servlets/servlet";\n';

/** A servlet with one tool, whose handler has this body. */
export const tool = (body: string, before = "") =>
  `${KIT}${before}
export default defineServlet({
  tools: {
    try_it: {
      description: "Tries",
      async handler(_args, context) {
        void context;
        ${body}
      },
    },
  },
});
`;

export const textOf = ({ content }: { content: unknown }) =>
  (content as { text: string }[])[0]?.text;

/** A new folder outside of the project for each test, with servlets in it. */
export function servletFolder() {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "typescript-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  return {
    path: () => folder,
    /** Writes files into the folder of a servlet; gives that folder. */
    async write(files: Readonly<Record<string, string>>, servlet = "mine"): Promise<string> {
      for (const [name, text] of Object.entries(files)) {
        const path = join(folder, servlet, name);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, text);
      }
      return join(folder, servlet);
    },
  };
}
