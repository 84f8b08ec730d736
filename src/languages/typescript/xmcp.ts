/** Projects of xmcp: their settings are the entry, and each tool, prompt and resource is a file. */
import { readdir } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { standIn } from "./stand-in.ts";

/** True for the path of a project's settings. */
export const isXmcp = (entry: string): boolean => /^xmcp\.config\.[jt]s$/.test(basename(entry));

const KINDS = ["tools", "prompts", "resources"];

/** The folder of a kind's files. */
const folderOf = (entry: string, kind: string): string =>
  join(dirname(resolve(entry)), "src", kind);

/** The files of one kind. */
async function filesOf(entry: string, kind: string): Promise<string[]> {
  const folder = folderOf(entry, kind);
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  return names
    .filter((name) => /\.[jt]sx?$/.test(name))
    .toSorted()
    .map((name) => join(folder, name));
}

/** The files of all kinds. */
export const xmcpFiles = async (entry: string): Promise<string[]> =>
  (await Promise.all(KINDS.map((kind) => filesOf(entry, kind)))).flat();

/** The statements that make the project's server, and define `server`, the exports of its entry. */
export async function xmcpServer(entry: string): Promise<string> {
  const imports: string[] = [];
  const groups: string[] = [];
  for (const kind of KINDS) {
    const named = (await filesOf(entry, kind)).map((file, at) => {
      imports.push(`import * as ${kind}${at} from ${JSON.stringify(file)};`);
      const path = relative(folderOf(entry, kind), file).replaceAll("\\", "/");
      return `${JSON.stringify(path)}: ${kind}${at}`;
    });
    groups.push(`${kind}: { ${named.join(", ")} }`);
  }
  return `import { serve } from ${JSON.stringify(standIn("xmcp"))};
${imports.join("\n")}
const server = {};
serve(${JSON.stringify(basename(dirname(resolve(entry))))}, { ${groups.join(", ")} });`;
}
