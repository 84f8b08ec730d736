/** Builds the scripts of the console's pages, as assets of the deployment. */
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { build, type Plugin } from "esbuild";
import { limits } from "../../server/kernel/core/limits.ts";
import { writeIfNew } from "./cache.ts";
import { OWN_EXTENSION } from "./own.ts";

const CLIENT = join(import.meta.dirname, "../../console");

/** Writes the scripts into `console/` in this folder, and removes all other files there. */
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
      // For the client's OAuth, which is left out.
      jose: join(CLIENT, `shims${OWN_EXTENSION}`),
    },
    plugins: [
      wholeZodLeftOut,
      zodMessagesLeftOut,
      zodCyclesLeftOut,
      unusedLeftOut,
      oauthLeftOut,
      limitsInPlace,
    ],
  });
  await mkdir(folder, { recursive: true });
  for (const { path, contents } of outputFiles) await writeIfNew(path, contents);
  const names = new Set(outputFiles.map(({ path }) => basename(path)));
  for (const name of await readdir(folder))
    if (!names.has(name)) await rm(join(folder, name), { force: true });
}

/** A plugin that edits the text of the modules whose paths match. */
const edited = (name: string, filter: RegExp, edit: (text: string) => string): Plugin => ({
  name,
  setup: ({ onLoad }) =>
    onLoad({ filter }, async ({ path }) => ({
      contents: edit(await readFile(path, "utf8")),
      loader: path.endsWith(".ts") ? "ts" : "js",
    })),
});

/**
 * Makes the host side of views import zod as a namespace, of which a bundler keeps only what is used. It imports zod as
 * one object, which keeps everything: 60 KB more, gzipped.
 */
const wholeZodLeftOut = edited(
  "whole-zod-left-out",
  /ext-apps[\\/]dist[\\/]src[\\/]app-bridge\.js$/,
  (text) => text.replace(/import\{z as (\w+)\}from"zod\/v4"/, 'import*as $1 from"zod/v4"'),
);

/** Removes zod's error messages: zod only checks the server's responses, which needs only one. Saves 1 KB gzipped. */
const zodMessagesLeftOut = edited(
  "zod-messages-left-out",
  /zod[\\/]v4[\\/]locales[\\/]en\.js$/,
  () => 'export default () => ({ localeError: () => "Invalid input" });',
);

/** Removes zod's support for values that contain themselves, which JSON cannot express. Saves 1 KB, gzipped. */
const zodCyclesLeftOut = edited(
  "zod-cycles-left-out",
  /zod[\\/]v4[\\/]core[\\/]memoizer\.js$/,
  (text) =>
    text.replace(/^export function memoizer\(\) \{$[\s\S]*?^\}$/m, "export function memoizer() {}"),
);

/**
 * Removes modules whose exports the pages never call, but that a bundler keeps: zod's conversion to JSON Schema, hono's
 * form and head elements, and the OAuth schemas. Saves 8 KB, gzipped.
 */
const unusedLeftOut = edited(
  "unused-left-out",
  /zod[\\/]v4[\\/]core[\\/](to-json-schema|json-schema-processors)\.js$|hono[\\/]dist[\\/]jsx[\\/]dom[\\/]intrinsic-element[\\/]components\.js$|@modelcontextprotocol[\\/]core[\\/]dist[\\/]auth-[\w-]+\.mjs$/,
  withoutBodies,
);

/**
 * Removes OAuth from the official client: the console authenticates with a cookie and passes no provider to these
 * functions. Also removes the OAuth schemas from its table of protocol types. Saves 8 KB, gzipped.
 */
const oauthLeftOut = edited(
  "oauth-left-out",
  /@modelcontextprotocol[\\/]client[\\/]dist[\\/][\w-]+\.mjs$/,
  (text) =>
    text
      .replaceAll(
        /^((?:async )?function (?:auth|adaptOAuthProvider|resolveAuthorizationCallbackParams|withDpopFromProvider)\(.*\)) \{$[\s\S]*?^\}$/gm,
        '$1 { throw new Error("The console has no OAuth."); }',
      )
      .replace("Object.entries(authSchemas)", "[]"),
);

/**
 * Inlines the few limits that checks of values use, so that the bundler removes all others. Nothing changes limits in a
 * browser. Saves 1.4 KB, gzipped.
 */
const limitsInPlace = edited("limits-in-place", /[\\/]schema[\\/][\w-]+\.[jt]s$/, (text) => {
  const inPlace = text.replaceAll(/\blimits\.(\w+)/g, (whole, name: string) =>
    Object.hasOwn(limits, name) ? String(limits[name as keyof typeof limits]) : whole,
  );
  const [, ...others] = inPlace.match(/\blimits\b(?!\.)/g) ?? [];
  return others.length > 0 ? inPlace : inPlace.replace(/^import \{ limits \} from .*$/m, "");
});

/** The source of a module with the same export names, all of them undefined. */
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
