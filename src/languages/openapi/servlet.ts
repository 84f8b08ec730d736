/** Generates a servlet in TypeScript with a tool for each operation of an API: manifest, code and test. */
import { format } from "oxfmt";
import type { Json } from "../../server/kernel/core/model.ts";
import { DOCS } from "../../tools/bundle/own.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import type { ApiTool } from "./api-tool.ts";
import { accessOf, chosenCredentials, type ApiCredentials } from "./credentials.ts";
import {
  type Description,
  HTTP_METHODS,
  readDescription,
  type PathItem,
  type ApiServer,
} from "./description.ts";
import { chosenFrom, operationsOf, type Choice, type Operation } from "./operations.ts";
import { Schemas } from "./schemas.ts";
import { LeftOut, toolOf } from "./tool.ts";
import { importsOf, inputsOf, toolCode } from "./tool-code.ts";
import { UniqueNames, sentences, snake } from "./words.ts";

/** A generated servlet. */
export interface GeneratedServlet {
  /** Its files, by name. */
  files: Map<string, string>;
  /** Lines for the author: what was omitted or changed, and which credentials the servlet needs. */
  notes: string[];
}

interface Left {
  operation: Operation;
  why: string;
}

/** Generates the servlet from the description in a file or at a URL. Throws a `Refusal`. */
export async function servletOf(
  name: string,
  from: string,
  choice: Choice,
): Promise<GeneratedServlet> {
  try {
    return await written(name, from, choice);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Refusal(`${from}: its schemas are nested too deeply: ${error.message}`);
  }
}

async function written(name: string, from: string, choice: Choice): Promise<GeneratedServlet> {
  const description = await readDescription(from);
  const all = operationsOf(description, name);
  const chosen = chosenFrom(all, choice, from);
  const notes = await description.check(itemsOf(chosen));
  const server = serverOf(description, notes);
  const credentials = chosenCredentials(chosen, description, name);
  const schemas = new Schemas(description);
  const tools: ApiTool[] = [];
  const left: Left[] = [];
  for (const operation of chosen) {
    const access = accessOf(operation, credentials, description);
    try {
      if (access === "impossible") throw new LeftOut("it takes none of the servlet's credentials");
      const [own] = operation.object.servers ?? operation.item.servers ?? [];
      if (own !== undefined && URL.parse(filled(own), description.base)?.href !== server)
        throw new LeftOut(`it has a server of its own, ${own.url}`);
      const isAnonymous = access === "anonymous" && credentials.schemes.length > 0;
      tools.push(toolOf(operation, { description, schemas, credentials, isAnonymous }));
    } catch (error) {
      if (!(error instanceof LeftOut)) throw error;
      left.push({ operation, why: error.message });
    }
  }
  if (tools.length === 0) {
    throw new Refusal(
      `${from}: none of its operations can become a tool:\n${linesOf(left).join("\n")}`,
    );
  }
  const { title } = description.document.info;
  const api = { name: nameOf(title, name), url: server.replace(/\/+$/, "") };
  const files = new Map([
    ["servlet.json", JSON.stringify(manifestOf(name, api, credentials), null, 2)],
    ["servlet.ts", codeOf(description, api, tools, credentials, schemas)],
    ["servlet.test.ts", testOf(name, api, tools, credentials)],
  ]);
  for (const [file, text] of files) files.set(file, await formatted(file, text));
  const deprecated = all.filter((one) => one.object.deprecated === true && !chosen.includes(one));
  return {
    files,
    notes: [
      `${tools.length} ${tools.length === 1 ? "tool" : "tools"} from ${all.length} operations${deprecated.length > 0 ? ` (${deprecated.length} deprecated, left out)` : ""}.`,
      ...(left.length > 0 ? ["Left out:", ...linesOf(left)] : []),
      ...listed(
        [...notes, ...tools.flatMap((tool) => tool.notes), ...schemas.notes].map(
          (note) => `  ${note}`,
        ),
      ),
      ...signInNotes(name, credentials, description, server),
    ],
  };
}

const linesOf = (left: readonly Left[]) =>
  left.map(({ operation: { method, path }, why }) => `  ${method.toUpperCase()} ${path}: ${why}`);

/** Maximum number of notes printed. */
const MOST_NOTES = 20;

const listed = (notes: readonly string[]): string[] => [
  ...(notes.length > 0 ? ["Changed:"] : []),
  ...notes.slice(0, MOST_NOTES),
  ...(notes.length > MOST_NOTES ? [`  and ${notes.length - MOST_NOTES} more`] : []),
];

/** The path items of these operations, without other operations. */
function itemsOf(operations: readonly Operation[]): Record<string, PathItem> {
  // Without a prototype, because a path may be named `__proto__`.
  const items = Object.create(null) as Record<string, PathItem>;
  for (const { path, method, item, object } of operations) {
    items[path] ??= Object.fromEntries(
      Object.entries(item).filter(([key]) => !(HTTP_METHODS as readonly string[]).includes(key)),
    );
    items[path][method] = object;
  }
  return items;
}

/** The URL of the first server with an absolute URL, preferably HTTPS. Adds a note if the URL has variables. */
function serverOf({ from, base, document }: Description, notes: string[]): string {
  const [first = { url: "/" }, ...others]: ApiServer[] = document.servers ?? [];
  const all = [first, ...others].map((server) => ({ server, url: filled(server) }));
  const whole = all
    // In `allowed_hosts`, `*` would match any host.
    .filter(({ url }) => !/[{}*]/.test(url) && URL.canParse(url, base))
    .map((one) => ({ ...one, url: new URL(one.url, base) }));
  const chosen =
    whole.find(({ url }) => url.protocol === "https:") ??
    whole.find(({ url }) => url.protocol === "http:");
  if (chosen === undefined) {
    throw new Refusal(
      `${from}: it does not say where the API is: its server is ${all[0]!.url}. Add the whole URL to it first, under \`servers\`, such as ${all[0]!.url.startsWith("//") ? `https:${all[0]!.url}` : `https://api.example.com${all[0]!.url.startsWith("/") ? all[0]!.url : ""}`}`,
    );
  }
  const { server, url } = chosen;
  if (Object.keys(server.variables ?? {}).length > 0) {
    notes.push(
      `the server is a template, ${server.url}: ${url.href} was taken. For another, change \`url\` in servlet.ts and the hosts in servlet.json`,
    );
  }
  return url.href;
}

const filled = ({ url, variables = {} }: ApiServer): string =>
  url.replaceAll(/\{([^{}]+)\}/g, (whole, name: string) =>
    Object.hasOwn(variables, name) ? variables[name]!.default : whole,
  );

/** The URLs of an OAuth provider, with variables filled in. Relative URLs are resolved against the server's URL. */
function addressesOf(settings: Json, { document }: Description, server: string): Json {
  const variables = Object.assign({}, ...(document.servers ?? []).map((one) => one.variables));
  const entries = Object.entries(settings).map(([key, address]) => {
    const url = filled({ url: String(address), variables });
    return [key, /^[\w+.-]+:/.test(url) ? url : (URL.parse(url, server)?.href ?? url)] as const;
  });
  return Object.fromEntries(entries);
}

/** The API's name in messages: the title, or the servlet's name if the title is about the description itself. */
function nameOf(title: string, servlet: string): string {
  const own = title
    .slice(0, 500)
    .replace(/\s*[-–|:]\s*OpenAPI\b.*$/i, "")
    .replace(/^Swagger /, "");
  return /openapi|swagger|\bspec/i.test(own) ? servlet : sentences(own, 60);
}

interface Api {
  name: string;
  url: string;
}

function manifestOf(name: string, api: Api, { account, keys }: ApiCredentials): object {
  const { hostname } = new URL(api.url);
  return {
    $schema: "",
    description: `Tools for ${api.name}.`,
    allowed_hosts: [hostname],
    ...(account && { accounts: { [name]: { scopes: account.scopes, hosts: [hostname] } } }),
    ...(keys.length > 0 && {
      allowed_secrets: keys.map(({ secret }) => ({ service: secret, user: "key" })),
    }),
  };
}

function codeOf(
  { document: { info } }: Description,
  api: Api,
  tools: readonly ApiTool[],
  { account, keys }: ApiCredentials,
  schemas: Schemas,
): string {
  const shared = sharedInputs(tools);
  const body = [
    ...[...shared.values()].map(({ code, constant }) => `const ${constant} = ${code};\n`),
    `export default defineServlet({\ntools: {`,
    ...tools.map((tool) => {
      const inputs = [...inputsOf(tool)].map(
        ([name, code]) =>
          `${JSON.stringify(name)}: ${shared.get(`${name} ${code}`)?.constant ?? code}`,
      );
      return toolCode(tool, inputs, schemas);
    }),
    `},\n});`,
  ];
  const { code, declarations } = schemas.linked(body.join("\n"));
  const imports = ["defineApi", ...new Set(tools.flatMap(importsOf))].toSorted();
  const members = [
    `name: ${JSON.stringify(api.name)}`,
    `url: ${JSON.stringify(api.url)}`,
    ...(account ? [`account: ${JSON.stringify(account.name)}`] : []),
    ...(keys.length > 0 ? [`keys: ${JSON.stringify(keys)}`] : []),
  ];
  return [
    `/** ${comment(`Tools for ${info.title} ${info.version}, written from its OpenAPI description.`)} */`,
    `import { ${imports.join(", ")} } from "edge-servlets/api";`,
    `import { defineServlet } from "edge-servlets/servlet";`,
    ...(code.includes("z.") ? [`import * as z from "zod/mini";`] : []),
    "",
    `const api = defineApi({\n${members.join(",\n")},\n});`,
    "",
    ...declarations.flatMap((one) => [one, ""]),
    code,
  ].join("\n");
}

/** Inputs that several tools have, by name and code. Each becomes a constant. */
function sharedInputs(tools: readonly ApiTool[]): Map<string, { constant: string; code: string }> {
  const all = tools.flatMap((tool) => [...inputsOf(tool)]);
  const seen = new Set<string>();
  const names = new UniqueNames(["JSON"]);
  const shared = new Map<string, { constant: string; code: string }>();
  for (const [name, code] of all) {
    const key = `${name} ${code}`;
    if (seen.has(key) && !shared.has(key) && code.length >= SHORT)
      shared.set(key, { constant: names.take(snake(name).toUpperCase()), code });
    seen.add(key);
  }
  return shared;
}

/** Maximum length of code that is repeated instead of declared as a constant. */
const SHORT = 40;

const comment = (text: string) => text.replaceAll(/\s+/g, " ").replaceAll("*/", "* /");

/** The test. It calls a tool with the smallest arguments, preferably one that only reads. */
function testOf(
  name: string,
  api: Api,
  tools: readonly ApiTool[],
  { account, keys }: ApiCredentials,
): string {
  const cost = ({ sample, request }: ApiTool) =>
    JSON.stringify(sample.args).length + (request.method === "get" ? 0 : 1000);
  const tool = tools.reduce((best, one) => (cost(one) < cost(best) ? one : best));
  const { args, path } = tool.sample;
  const method = tool.request.method.toUpperCase();
  const credentials = [
    ...(account ? [`accounts: { ${JSON.stringify(name)}: "token" },`] : []),
    ...(keys.length > 0
      ? [
          `secrets: ${JSON.stringify(Object.fromEntries(keys.map(({ secret }) => [secret, "key"])))},`,
        ]
      : []),
  ];
  return `import { loadServlet, type Script } from "edge-servlets/testing";
import { expect, test } from "vitest";

const servlet = await loadServlet(import.meta.dirname);

/** Calls the tool with this response from the API. */
async function called(answer: Response) {
  const sent: string[] = [];
  const script: Script = {
    ${credentials.length > 0 ? `caller: "ada",\n${credentials.join("\n")}` : ""}
    fetch: ({ method, url }) => {
      sent.push(\`\${method} \${url.split("?")[0]}\`);
      return answer;
    },
  };
  const { result } = await servlet.callTool(${JSON.stringify(tool.name)}, ${JSON.stringify(args)}, script);
  return { result, sent };
}

test("calls the API", async () => {
  const { result, sent } = await called(Response.json({}));
  expect(result.isError).not.toBe(true);
  expect(sent).toEqual([${JSON.stringify(`${method} ${api.url}${path}`)}]);
});

test("says why the API refuses", async () => {
  const { result } = await called(Response.json({ message: "Not today" }, { status: 400 }));
  expect(result.isError).toBe(true);
  expect(result.content).toMatchObject([{ text: expect.stringContaining("Not today") }]);
});
`;
}

/** Formats a file as in this project. */
async function formatted(file: string, text: string): Promise<string> {
  const { code, errors } = await format(file, text, { printWidth: 100 });
  if (errors.length > 0)
    throw new Error(`${file} cannot be formatted: ${errors[0]!.message}\n${text}`);
  return code;
}

function signInNotes(
  name: string,
  { schemes, account, keys, others }: ApiCredentials,
  description: Description,
  server: string,
): string[] {
  const provider = account && addressesOf(account.settings, description, server);
  const parts = Object.values(provider ?? {}).flatMap(
    (url) => String(url).match(/\{[^{}]+\}/g) ?? [],
  );
  const variable = (secret: string) => `${secret.toUpperCase().replaceAll("-", "_")}_KEY`;
  return [
    "",
    ...(provider
      ? [
          `Callers connect an account; the server needs an app of yours at its provider (${DOCS}/accounts.md):`,
          // Escape single quotes, which would end the text in a shell.
          `  ACCOUNTS='${JSON.stringify({ [name]: { ...provider, client_id: "…", client_secret: variable(name).replace(/KEY$/, "SECRET") } }).replaceAll("'", "\\u0027")}'`,
          ...(parts.length > 0 ? [`  with your own ${[...new Set(parts)].join(", ")}.`] : []),
        ]
      : []),
    ...keys.map(
      ({ secret }) =>
        `Its key is the server's secret ${variable(secret)}. Without that, each caller is asked for their own.`,
    ),
    ...(schemes.length === 0
      ? [
          "Its requests have no credentials: the description names none that a servlet can use. If it needs a key, add `keys` to defineApi in servlet.ts.",
        ]
      : []),
    ...(others.length > 0
      ? [`The API also has credentials that it does not use: ${others.join(", ")}.`]
      : []),
  ];
}
