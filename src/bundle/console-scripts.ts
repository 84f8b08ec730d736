/** The script of the pages, as assets of the deployment. */
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { build, type Plugin } from "esbuild";
import { writeIfNew } from "./cache.ts";
import { OWN_EXTENSION } from "./own.ts";

const CLIENT = join(import.meta.dirname, "../pages/client");

/** Writes the scripts into `console/` of this folder, and removes others there. */
export async function consoleScripts(assets: string): Promise<void> {
  const folder = join(assets, "console");
  const { outputFiles } = await build({
    entryPoints: {
      main: join(CLIENT, `main${OWN_EXTENSION}`),
      answer: join(CLIENT, `answer${OWN_EXTENSION}`),
    },
    outdir: folder,
    bundle: true,
    splitting: true,
    write: false,
    format: "esm",
    minify: true,
    target: "es2024",
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "hono/jsx/dom",
    alias: {
      "@modelcontextprotocol/client/_shims": join(CLIENT, `shims${OWN_EXTENSION}`),
      // For keys of clients that sign in by them.
      jose: join(CLIENT, `shims${OWN_EXTENSION}`),
    },
    plugins: [wholeZodLeftOut, unusedLeftOut],
  });
  await mkdir(folder, { recursive: true });
  for (const { path, contents } of outputFiles) await writeIfNew(path, contents);
  const names = new Set(outputFiles.map(({ path }) => basename(path)));
  for (const name of await readdir(folder))
    if (!names.has(name)) await rm(join(folder, name), { force: true });
}

/**
 * The host side of views imports zod as one object, of which a bundler keeps everything: 60 KB more, gzipped, for whoever
 * tries an entry. As a namespace, it keeps what is used.
 */
const wholeZodLeftOut: Plugin = {
  name: "whole-zod-left-out",
  setup: ({ onLoad }) =>
    onLoad({ filter: /ext-apps[\\/]dist[\\/]src[\\/]app-bridge\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replace(
        /import\{z as (\w+)\}from"zod\/v4"/,
        'import*as $1 from"zod/v4"',
      ),
    })),
};

/**
 * Parts of libraries that the pages do not use, and that a bundler cannot tell from others: JSON Schemas made from zod's, and
 * hono's own kinds of forms and heads. Nothing that they export is ever called: 7 KB less, gzipped.
 */
const unusedLeftOut: Plugin = {
  name: "unused-left-out",
  setup: ({ onLoad }) =>
    onLoad(
      {
        filter:
          /zod[\\/]v4[\\/]core[\\/](to-json-schema|json-schema-processors)\.js$|hono[\\/]dist[\\/]jsx[\\/]dom[\\/]intrinsic-element[\\/]components\.js$/,
      },
      async ({ path }) => ({ contents: withoutBodies(await readFile(path, "utf8")) }),
    ),
};

/** The module with the names that it exports alone, none of which has a value. */
function withoutBodies(text: string): string {
  const own = [...text.matchAll(/^export (?:const|function|class) (\w+)/gm)].map(
    ([, name]) => name!,
  );
  const listed = [...text.matchAll(/^export \{(.*?)\};$/gm)].flatMap(([, all]) =>
    [...all!.matchAll(/(\w+)(?:,|\s*$)/g)].map(([, name]) => name!),
  );
  return `const none = () => ({});
export { ${[...own, ...listed].map((name) => `none as ${name}`).join(", ")} };`;
}
