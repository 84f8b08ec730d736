/** SDKs of other servers, each with the module of the kit that stands in for it. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { build, type BuildOptions, type Plugin } from "esbuild";
import type { AbsentExports } from "./absent.ts";
import { SERVERS, standIn } from "./stand-in.ts";
import { OF_SERVLET } from "./zod.ts";

const { schemas } = await import("../../kit/servers/schemas-of-types.ts");

/** Modules that make a servlet of what imports them, by pattern of their names. */
const SDKS: readonly (readonly [RegExp, string])[] = [
  [
    /^@modelcontextprotocol\/sdk(\/(server|shared|experimental|validation)\b.*|\/inMemory(\.js)?)?$/,
    "sdk-v1",
  ],
  [/^@modelcontextprotocol\/sdk\/types(\.js)?$/, "sdk-types"],
  [/^@modelcontextprotocol\/(server|node|express|hono|fastify|core)(\/.*)?$/, "sdk-v2"],
  [/^agents\/mcp(\/server)?$/, "agents"],
  [/^(mcp-handler|@vercel\/mcp-adapter)(\/next)?$/, "mcp-handler"],
  [/^fastmcp$/, "fastmcp"],
  [/^xmcp$/, "xmcp"],
];

/** Modules around a server, whose work the server of servlets does. */
const AROUND: readonly (readonly [RegExp, string])[] = [
  [/^(node-fetch|cross-fetch|isomorphic-fetch|node-fetch-native|undici)$/, "fetch"],
  [/^(express|hono|fastify|koa|cors)(\/.*)?$/, "http"],
  [/^@hono\/node-server(\/.*)?$/, "http"],
  [/^dotenv(\/config)?$/, "dotenv"],
  [/^@cloudflare\/workers-oauth-provider$/, "oauth-provider"],
];

const found = (table: typeof SDKS, name: string): string | undefined =>
  table.find(([pattern]) => pattern.test(name))?.[1];

/** True for the name of a module of an SDK for servers. */
export const isSdk = (name: string): boolean => found(SDKS, name) !== undefined;

/** True for the name of a module that the kit stands in for. */
export const isStandIn = (name: string): boolean =>
  isSdk(name) || found(AROUND, name) !== undefined;

/** Options with which esbuild follows the imports of an author's files, and writes nothing. */
export const READING = {
  bundle: true,
  write: false,
  metafile: true,
  outdir: "out",
  platform: "node",
  format: "esm",
  packages: "external",
  logLevel: "silent",
} as const satisfies BuildOptions;

/** The SDK that a file imports, itself or by other files of its author; undefined if none. */
export async function sdkOf(file: string): Promise<string | undefined> {
  const texts: string[] = [];
  const { metafile } = await build({
    entryPoints: [file],
    ...READING,
    loader: { ".svg": "text", ".css": "empty", ".node": "empty" },
    plugins: [readTexts(texts)],
  }).catch(() => ({ metafile: undefined }));
  if (metafile === undefined) return sdkIn(texts);
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  return imports.find(({ path, external }) => external === true && isSdk(path))?.path;
}

/** Keeps the texts of modules. */
const readTexts = (texts: string[]): Plugin => ({
  name: "texts",
  setup(on) {
    on.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, async ({ path }) => {
      texts.push(await readFile(path, "utf8"));
      return undefined;
    });
  },
});

/** The SDK that these modules import, which could not be bundled; the bundle step says later why. */
const sdkIn = (texts: readonly string[]): string | undefined =>
  texts
    .flatMap((text) => [...text.matchAll(/\b(?:from|import|require\()\s*["']([^"'\n]+)["']/g)])
    .map(([, name]) => name!)
    .find(isSdk);

/** Stand-ins with a default export. */
const WITH_DEFAULT = new Set(["dotenv", "fetch", "http", "oauth-provider"]);

const moduleOf = (name: string): string =>
  ["*", ...(WITH_DEFAULT.has(name) ? ["{ default }"] : [])]
    .map((what) => `export ${what} from ${JSON.stringify(standIn(name))};`)
    .join("\n");

/**
 * Resolves the modules of SDKs, in the author's files and in packages, to their stand-ins. `zods` are the modules of zod that
 * the servlet imports: noted while its lists are learnt, and known afterwards, when nothing is to be converted to JSON Schema.
 */
export const standIns = (
  { folder, zods, lacks }: { folder: string; zods: Set<string>; lacks: AbsentExports },
  isLearning: boolean,
): Plugin => ({
  name: "stand-ins",
  setup(on) {
    on.onResolve({ filter: /^[^./]/ }, ({ path, namespace, importer }) => {
      const name = found(SDKS, path) ?? found(AROUND, path);
      if (name !== undefined) return { path: name, namespace: "stand-in" };
      if (path === OF_SERVLET) return { path, namespace: OF_SERVLET };
      const isOurs = namespace === OF_SERVLET || /[\\/]zod-to-json-schema[\\/]/.test(importer);
      if (!isOurs && /^zod(\/|$)/.test(path)) zods.add(path);
      return undefined;
    });
    on.onLoad({ filter: /^/, namespace: "stand-in" }, ({ path }) => ({
      contents: `${path === "sdk-types" ? TYPES : moduleOf(path)}\n${lacks.exportsOf(`stand-in:${path}`, "the SDK")}`,
      resolveDir: SERVERS,
    }));
    on.onLoad({ filter: /^/, namespace: OF_SERVLET }, async () => ({
      contents: isLearning ? await learningZod(folder) : await zodOf(folder, zods),
      resolveDir: resolve(folder),
    }));
  },
});

const TYPES = `export * from ${JSON.stringify(standIn("sdk-v1"))};
import { schemas } from ${JSON.stringify(standIn("schemas-of-types"))};
export const { ${Object.keys(schemas).join(", ")} } = schemas;`;

/** True for the modules of zod 3, and of zod 4, that there are beside a servlet. */
async function zodsIn(
  folder: string,
): Promise<{ old?: string; isModern: (name: string) => boolean }> {
  const version = await versionOf("zod", folder);
  const [major = 0, minor = 0] = (version ?? "").split(".").map(Number);
  const hasBoth = major >= 4 || (major === 3 && minor >= 25);
  return {
    ...(version !== undefined && { old: hasBoth ? "zod/v3" : "zod" }),
    isModern: (name) => hasBoth && (major >= 4 ? name !== "zod/v3" : /^zod\/(v4|mini)/.test(name)),
  };
}

/** Only an empty shape has no schema of either zod in it. */
const NOTHING = `({ "~standard": { version: 1, vendor: "none", validate: () => ({ value: {} }) } })`;
const NO_ZOD = `{ throw new Error("zod is not installed beside the servlet"); }`;

/** All that the servlet may need of zod, and what converts schemas to JSON Schema. */
async function learningZod(folder: string): Promise<string> {
  const { old, isModern } = await zodsIn(folder);
  const hasModern = isModern("zod/v4");
  return [
    `import { convertWith } from ${JSON.stringify(standIn("convert"))};`,
    objectsOf(hasModern, old),
    hasModern
      ? `import { toJSONSchema } from "zod/v4/core"; export const convert = convertWith(toJSONSchema);`
      : `export const convert = convertWith();`,
  ].join("\n");
}

/** The parts of zod that the servlet uses when its lists are known. */
async function zodOf(folder: string, zods: ReadonlySet<string>): Promise<string> {
  const { old, isModern } = await zodsIn(folder);
  const hasOld = [...zods].some((name) => !isModern(name));
  return `${objectsOf([...zods].some(isModern), hasOld ? old : undefined)}
export const convert = () => ({});`;
}

/** How an object is made of a shape, of zod 4 and of zod 3. */
const objectsOf = (hasModern: boolean, old: string | undefined): string =>
  `${hasModern ? 'import { $ZodObject } from "zod/v4/core";' : ""}
${old === undefined ? "" : `import { ZodObject } from "${old}";`}
export const objects = {
  modern: (shape) => ${hasModern ? `new $ZodObject({ type: "object", shape })` : old === undefined ? NOTHING : "ZodObject.create(shape)"},
  old: (shape) => ${old === undefined ? NO_ZOD : "ZodObject.create(shape)"},
};`;

async function versionOf(name: string, folder: string): Promise<string | undefined> {
  try {
    const path = createRequire(join(resolve(folder), "x.js")).resolve(`${name}/package.json`);
    return (JSON.parse(await readFile(path, "utf8")) as { version: string }).version;
  } catch {
    return undefined;
  }
}
