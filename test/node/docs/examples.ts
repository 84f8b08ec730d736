/** The public faces of the package, with the comments and examples of what they export. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The public faces by the name that a project imports. */
export const FACES = {
  "edge-servlets": "src/server/worker.ts",
  "edge-servlets/servlet": "src/kit/servlet.ts",
  "edge-servlets/files": "src/kit/files.ts",
  "edge-servlets/api": "src/kit/api.ts",
  "edge-servlets/remote": "src/kit/remote.ts",
  "edge-servlets/testing": "src/tools/testing/index.ts",
  "edge-servlets/view": "src/kit/view/index.ts",
};

/** One name that a face exports. */
export interface Exported {
  name: string;
  isType: boolean;
  /** The text of its doc comment; empty if it has none. */
  comment: string;
  /** The code of its example; empty if it has none. */
  example: string;
}

const DECLARED =
  /(?:^\/\*\*((?:[^*]|\*(?!\/))*)\*\/\n)?^export (?:declare )?(?:async )?(function|class|const|interface|type) (\w+)/gm;
const FORWARDED = /^export (?:type )?(?:\*|\{([^}]*)\}) from "(\.[^"]+)";/gm;

/** The text of a comment, without what its lines begin with. */
export const uncommented = (written: string): string => written.replaceAll(/^ *\*? ?/gm, "");

/** Everything that a file exports, whether it declares it or only forwards it. */
export async function exportsOf(path: string): Promise<Exported[]> {
  const text = await readFile(path, "utf8");
  const all = new Map<string, Exported>();
  for (const [, written = "", kind, name] of text.matchAll(DECLARED)) {
    // Of an overloaded function, the first signature has the comment.
    if (all.has(name!)) continue;
    const comment = uncommented(written).trim();
    const [, example = ""] = comment.split("@example\n");
    all.set(name!, { name: name!, isType: /interface|type/.test(kind!), comment, example });
  }
  for (const [, names, from] of text.matchAll(FORWARDED)) {
    const wanted = names?.split(",").map((one) => one.trim().replace("type ", ""));
    for (const one of await exportsOf(join(dirname(path), from!)))
      if (wanted?.includes(one.name) ?? true) all.set(one.name, one);
  }
  return [...all.values()];
}

const IMPORT = /^import .* from "[^"]+";.*\n/gm;

/**
 * An example as a function of a module, `run`, with an import of each name of its face that it uses. A line
 * `EXPRESSION; // → VALUE` throws where the expression has another value.
 */
export function moduleOf(example: string, face: string, exported: readonly Exported[]): string {
  const imports = example.match(IMPORT)?.join("") ?? "";
  const body = example
    .replaceAll(IMPORT, "")
    .replaceAll(/^(.*); \/\/ → (.*)$/gm, "expectSame($1, $2);");
  if (body.includes("// →")) throw new Error(`A value stands behind one whole line:\n${body}`);
  const used = exported.filter(
    ({ name }) =>
      new RegExp(`\\b${name}\\b`).test(body) && !new RegExp(`\\b${name}\\b`).test(imports),
  );
  const names = used.map(({ name, isType }) => (isType ? `type ${name}` : name));
  return `${imports}import { ${names.join(", ")} } from "${face}";
import type { Context as GivenContext } from "edge-servlets/servlet";

function expectSame(actual: unknown, expected: unknown): void {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (found !== wanted) throw new Error(\`It is \${found}, and not \${wanted}.\`);
}

export async function run(args: Record<string, unknown>, context: GivenContext) {
  {
${body}
  }
}
`;
}
