/** The tables in docs/ that are made from the code they describe, between markers such as `<!-- limits: … -->`. */
import { glob, readFile } from "node:fs/promises";
import { extname } from "node:path";
import * as z from "zod";
import { publicLimits } from "../../../src/server/kernel/core/limits.ts";
import { CORPUS } from "../bundle/typescript/corpus/corpus.ts";
import { CORPUS as PYTHON_CORPUS } from "../bundle/python/corpus/corpus.ts";
import { costTables, pricesTable } from "./cost.ts";
import { manifestSchema } from "../../../src/server/kernel/servlets/manifest.ts";

import { code, replaced, table } from "./tables.ts";

const ALL_SETTINGS: string = "../../../src/server/all-settings.ts";
/** Of src/server/all-settings.ts, whose types are those of Workers: the compiler does not follow a computed path. */
const all = (await import(ALL_SETTINGS)) as {
  allSettings: readonly object[];
  readSettings(env: object, features: readonly object[]): Record<string, unknown>;
};
/** Reads the settings of a server with all features. */
export const readSettings = (env: object) => all.readSettings(env, all.allSettings);

/** Members of the object that `opening` begins, each with the doc comment above it, or above those before it. */
async function commented(
  file: string,
  opening: string,
): Promise<{ names: string[]; comment: string }[]> {
  const source = await readFile(file, "utf8");
  const [, after = ""] = source.split(opening);
  const indent = /\n( +)\S/.exec(after)?.[1] ?? "";
  const groups: { names: string[]; comment: string }[] = [];
  for (const [, comment, name] of after
    .slice(0, after.search(new RegExp(`\\n${indent.slice(2)}\\}`)))
    .matchAll(new RegExp(`(?<=\\n)${indent}(?:/\\*\\*([^]*?)\\*/|(\\w+):)`, "g"))) {
    if (comment !== undefined) {
      const text = comment.replaceAll(/\n\s*\* ?/g, " ").trim();
      groups.push({ names: [], comment: text });
    } else groups.at(-1)!.names.push(name!);
  }
  return groups;
}

interface JsonSchema {
  type?: string;
  enum?: string[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
  anyOf?: JsonSchema[];
  description?: string;
}

/** A schema's type in few words, as in TypeScript. */
function typeOf({
  type,
  enum: values,
  items,
  properties,
  additionalProperties,
}: JsonSchema): string {
  if (values) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (items) return `${typeOf(items)}[]`;
  if (properties) return `{ ${Object.keys(properties).join(", ")} }`;
  if (typeof additionalProperties === "object") return `{ name: ${typeOf(additionalProperties)} }`;
  return type ?? "any";
}

function manifestTable(): string {
  const { properties = {} } = z.toJSONSchema(manifestSchema()) as JsonSchema;
  const rows: string[][] = [];
  const add = (path: string, schema: JsonSchema) => {
    rows.push([code(path), code(typeOf(schema)), schema.description ?? ""]);
    // Described once, where the servlet's own are.
    if (path.endsWith(".requirements")) return;
    const inner = schema.items ?? schema.additionalProperties;
    const [nested, at] =
      typeof inner === "object" ? [inner, schema.items ? "[]" : ".NAME"] : [schema, ""];
    for (const [name, member] of Object.entries(nested.properties ?? {})) {
      if (member.description !== undefined) add(`${path}${at}.${name}`, member);
    }
  };
  for (const [name, schema] of Object.entries(properties)) add(name, schema);
  return table(["key", "type", "meaning"], rows);
}

async function settingsTable(): Promise<string> {
  const defaults = readSettings({});
  const files = [
    "src/server/kernel/settings/env.ts",
    ...(await Array.fromAsync(glob("src/server/features/*/settings.ts"))).toSorted(),
  ];
  const groups = await Promise.all(files.map((file) => commented(file, "\nconst shape = {")));
  const rows = groups.flat().map(({ names, comment }) => {
    const given = names.flatMap((name) => {
      const value: unknown = defaults[name];
      return typeof value === "string" || typeof value === "number" ? String(value) : [];
    });
    return [names.map(code).join(", "), given.map(code).join(", "), comment];
  });
  return table(["variable", "default", "meaning"], rows);
}

async function issuersTable(): Promise<string> {
  const groups = await commented(
    "src/server/kernel/settings/oauth-settings.ts",
    "export const issuerSchema = once(() =>\n  z.strictObject(\n    {",
  );
  return table(
    ["key", "meaning"],
    groups.map(({ names, comment }) => [names.map(code).join(", "), comment]),
  );
}

async function enterprisesTable(): Promise<string> {
  const groups = await commented(
    "src/server/features/sign-in/settings.ts",
    "const enterpriseSchema = once(() =>\n  z.strictObject({",
  );
  return table(
    ["key", "meaning"],
    groups.map(({ names, comment }) => [names.map(code).join(", "), comment]),
  );
}

/** The settings of a provider at which a team signs in, then the conditions of its rules. */
async function signInTables(): Promise<string> {
  const [settings, rules] = ["settings", "rules"].map(
    (name) => `src/server/features/team/${name}.ts`,
  );
  const own = await commented(settings!, "const signInSchema = once(() =>\n  z.strictObject({");
  const client = await commented(
    "src/server/kernel/settings/oauth-settings.ts",
    "const clientShape = () => ({",
  );
  const of = (await commented(rules!, "export const rulesShape = () => ({")).filter(
    ({ names }) => names.length > 0 && names[0] !== "everybody",
  );
  const conditions = await commented(rules!, "const conditions = () => ({");
  const rows = (groups: typeof own) =>
    groups.map(({ names, comment }) => [names.map(code).join(", "), comment]);
  return [
    table(["key", "meaning"], rows([...client, ...own, ...of])),
    "The conditions of a rule (`allow`, an entry of `roles`, `operators`), each a list:",
    table(["condition", "meaning"], rows(conditions)),
  ].join("\n\n");
}

async function providersTable(): Promise<string> {
  const path = "src/server/kernel/settings/oauth-settings.ts";
  const own = await commented(
    path,
    "export const providerSchema = once(() =>\n  z\n    .strictObject({",
  );
  const groups = [...own, ...(await commented(path, "const clientShape = () => ({"))];
  return table(
    ["key", "meaning"],
    groups.map(({ names, comment }) => [names.map(code).join(", "), comment]),
  );
}

/** The files with limits: those of the kernel, then those of features. */
const LIMIT_FILES = new Set([
  "src/server/kernel/core/limits.ts",
  ...(await Array.fromAsync(glob("src/server/kernel/*/limits.ts"))).toSorted(),
  ...(await Array.fromAsync(glob("src/server/features/*/limits.ts"))).toSorted(),
]);
for (const file of LIMIT_FILES) await import(`../../../${file}`);

async function limitsTable(): Promise<string> {
  const groups = await Promise.all(
    [...LIMIT_FILES].map((file) => commented(file, "\n  public: {")),
  );
  const known: Partial<Record<string, number>> = publicLimits;
  return table(
    ["limit", "value", "meaning"],
    groups
      .flat()
      .map(({ names, comment }) => [
        names.map(code).join(", "),
        names.map((name) => known[name]!.toLocaleString("en")).join("; "),
        comment,
      ]),
  );
}

async function packagesTable(): Promise<string> {
  const folder = "test/node/bundle/typescript/corpus";
  const { dependencies } = JSON.parse(await readFile(`${folder}/package.json`, "utf8")) as {
    dependencies: Record<string, string>;
  };
  const rows = CORPUS.map(({ name, does, kb, note, fails }) => {
    const [installed] = /^(?:@[^/]+\/)?[^/]+/.exec(name)!;
    const works = fails === undefined ? "yes" : `**no**: ${fails.because}`;
    return [
      code(name),
      dependencies[installed]!,
      does,
      note === undefined ? works : `${works}; ${note}`,
      String(kb ?? ""),
    ];
  });
  return table(["package", "version", "for", "works", "KB"], rows);
}

function pythonPackagesTable(): string {
  const rows = PYTHON_CORPUS.map(({ name, version, does, kb, note, fails }) => {
    const works = fails === undefined ? "yes" : `**no**: ${fails.because}`;
    return [
      code(name),
      version,
      does,
      note === undefined ? works : `${works}; ${note}`,
      String(kb ?? ""),
    ];
  });
  return table(["package", "version", "for", "works", "KB"], rows);
}

const TABLES: Record<string, () => string | Promise<string>> = {
  manifest: manifestTable,
  settings: settingsTable,
  issuers: issuersTable,
  enterprises: enterprisesTable,
  providers: providersTable,
  "sign-in": signInTables,
  limits: limitsTable,
  prices: () => pricesTable(table),
  cost: () => costTables(table),
  packages: packagesTable,
  "python-packages": pythonPackagesTable,
};

/** The pages with tables or files. */
export const PAGES = [
  "docs/manifest.md",
  "docs/configuration.md",
  "docs/operating.md",
  "docs/other-languages.md",
  "docs/packages.md",
];

/** How a file's language is named in a block, where that is not by the end of its name. */
const LANGUAGES: Record<string, string> = { py: "python", rs: "rust" };

/** A block with the content of a file. */
async function blockOf(path: string): Promise<string> {
  const end = extname(path).slice(1);
  return `\`\`\`${LANGUAGES[end] ?? end}\n${await readFile(path, "utf8")}\`\`\``;
}

/** The text of a page with its tables and files made anew. */
export async function renewed(path: string): Promise<string> {
  let text = await readFile(path, "utf8");
  const files = [...text.matchAll(/<!-- (templates\/[^:]+):/g)].map(([, file]) => file!);
  const parts = [
    ...Object.entries(TABLES),
    ...files.map((file) => [file, () => blockOf(file)] as const),
  ];
  for (const [name, make] of parts) {
    text = replaced(text, name, await make());
  }
  return text;
}
