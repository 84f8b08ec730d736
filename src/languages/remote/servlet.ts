/** Generates the files of a servlet that serves another MCP server: manifest, snapshot, code and test. Updates its snapshot. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { format } from "oxfmt";
import type { RemoteSnapshot } from "../../kit/remote.ts";
import { isObject, type Json } from "../../server/kernel/core/model.ts";
import { jsonIn, printableLine, shortened, textIn } from "../../server/kernel/core/text.ts";
import { isPrivate } from "../../server/kernel/http/private-hosts.ts";
import { isAllowed } from "../../server/kernel/wasm/hosts.ts";
import { exampleOf } from "../../server/kernel/schema/example.ts";
import { DOCS } from "../../tools/bundle/own.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { type RemoteSignIn, signInOf } from "./sign-in.ts";
import { takeSnapshot } from "./snapshot.ts";

/** The credential of calls: the operator's key as a bearer token or in a header, or the caller's account; none by default. */
export interface RemoteKey {
  bearer?: boolean | undefined;
  header?: string | undefined;
  account?: boolean | undefined;
}

interface RemoteChoice extends RemoteKey {
  only?: readonly string[] | undefined;
  /** The local variables, one of which has the key. */
  variables(): Promise<Record<string, unknown>>;
}

const SNAPSHOT = "remote.json";

/** The name of the Worker's secret with the key of this servlet. */
const variableOf = (name: string) => `${name.toUpperCase().replaceAll("-", "_")}_KEY`;

/** Generates the files of a servlet for the server at this URL. Throws a `Refusal`. */
export async function remoteServlet(name: string, address: string, choice: RemoteChoice) {
  const url = checkedUrl(address);
  const key = keyOf(choice);
  const signIn = key === "account" ? await signInOf(url) : undefined;
  const { snapshot, left } = await takeSnapshot({
    url: url.href,
    headers: await headersFor(name, key, choice),
    only: choice.only ?? [],
    unauthorized: adviceOn(name, key),
  });
  const files = new Map([
    ["servlet.json", JSON.stringify(manifestOf(name, snapshot, url, { key, signIn }), null, 2)],
    [SNAPSHOT, JSON.stringify(snapshot, null, 2)],
    ["servlet.ts", codeOf(name, snapshot, key)],
    ["servlet.test.ts", testOf(snapshot, name, key)],
  ]);
  for (const [file, text] of files) files.set(file, await formatted(file, text));
  return { files, notes: notesOn(name, { snapshot, left, url, key, signIn }) };
}

/** Takes the lists of the server of the servlet in this folder. Returns the new snapshot as a file, and notes on changes. Throws a `Refusal`. */
export async function renewRemote(name: string, folder: string, choice: RemoteChoice) {
  const path = join(folder, SNAPSHOT);
  const text = await readFile(path, "utf8").catch(() => {
    throw new Refusal(`${folder} is no servlet for another MCP server: it has no ${SNAPSHOT}`);
  });
  const old = jsonIn(text) as RemoteSnapshot | undefined;
  if (!isObject(old))
    throw new Refusal(`${path} is not valid JSON: restore it, or make the servlet anew`);
  const url = checkedUrl(textIn(old.url));
  await demandPinned(url, folder);
  const key = await keyIn(folder);
  const { snapshot, left } = await takeSnapshot({
    url: url.href,
    headers: await headersFor(name, key, choice),
    only: choice.only ?? old.only ?? [],
    unauthorized: adviceOn(name, key),
  });
  const lines = differences(old, snapshot);
  return {
    path,
    text: await formatted(SNAPSHOT, JSON.stringify(snapshot, null, 2)),
    notes: [
      lines.length === 0
        ? `${snapshot.name} has not changed since ${old.taken}.`
        : `${snapshot.name} has changed since ${old.taken}; read ${SNAPSHOT} before you deploy it:`,
      ...lines,
      ...leftOut(left),
      ...(Boolean(old.session) === Boolean(snapshot.session)
        ? []
        : [
            `It ${snapshot.session ? "has sessions now: add" : "has no sessions any more: remove"} "state": "caller" in servlet.json.`,
          ]),
    ],
  };
}

/** Throws a `Refusal` for a URL that the servlet may not call: the key would go to another server. */
async function demandPinned(url: URL, folder: string): Promise<void> {
  const path = join(folder, "servlet.json");
  const manifest = jsonIn(await readFile(path, "utf8").catch(() => ""));
  const hosts: unknown = isObject(manifest) ? manifest["allowed_hosts"] : undefined;
  const pinned = (Array.isArray(hosts) ? hosts : []).map(textIn);
  if (!isAllowed(url, pinned))
    throw new Refusal(
      `${path} does not allow ${url.host}, which ${SNAPSHOT} names: add it to allowed_hosts if the server has moved there, or restore ${SNAPSHOT}`,
    );
}

/** The server's URL. Throws a `Refusal` if it is not valid, or would be called without encryption. */
function checkedUrl(address: string): URL {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Refusal(`--mcp takes the https URL of an MCP server; "${address}" is none`);
  if (url.username !== "" || url.password !== "" || url.hash !== "")
    throw new Refusal(
      "--mcp takes a URL without user, password and fragment. A key goes into a secret: --bearer or --header NAME",
    );
  if (url.protocol === "http:" && !isPrivate(url.hostname))
    throw new Refusal(
      `${url.href} would be called without encryption: take its https URL. Plain http is for hosts in a private network`,
    );
  return url;
}

/** The credential in the options; undefined if there is none. */
function keyOf({ bearer = false, header, account = false }: RemoteKey): KeyForm {
  if (Number(bearer) + Number(account) + Number(header !== undefined) > 1)
    throw new Refusal(
      "--bearer, --header and --account each say how calls are authorized: give one of them",
    );
  if (header !== undefined && !/^[\w-]{1,60}$/.test(header))
    throw new Refusal(
      `--header takes the name of a header, such as X-Api-Key; "${header}" is none`,
    );
  if (account) return "account";
  return bearer ? "bearer" : header === undefined ? undefined : { header };
}

type KeyForm = "bearer" | "account" | { header: string } | undefined;

/** The credential of the generated servlet in this folder, which its code names. */
async function keyIn(folder: string): Promise<KeyForm> {
  const code = await readFile(join(folder, "servlet.ts"), "utf8").catch(() => "");
  const [, header] = /as: \{ header: "([\w-]+)" \}/.exec(code) ?? [];
  if (header !== undefined) return { header };
  if (/\{ account: "/.test(code)) return "account";
  return code.includes('as: "bearer"') ? "bearer" : undefined;
}

/** The headers of the requests for lists. With an account no key is needed, as the lists may be public. */
async function headersFor(name: string, key: KeyForm, { variables }: RemoteChoice) {
  if (key === undefined) return {};
  const variable = variableOf(name);
  const value = process.env[variable] ?? (await variables())[variable];
  if (typeof value !== "string" || value === "") {
    if (key === "account") return {};
    throw new Refusal(
      `To take the server's lists the key is needed: put it into .dev.vars as ${variable}=…, and try again`,
    );
  }
  if (!/^[\x21-\x7e]+$/.test(value))
    throw new Refusal(
      `${variable} has characters that no header may have, such as spaces or line breaks: correct it, and try again`,
    );
  return typeof key === "string"
    ? { authorization: `Bearer ${value}` }
    : { [key.header.toLowerCase()]: value };
}

function adviceOn(name: string, key: KeyForm): string {
  const variable = variableOf(name);
  switch (key) {
    case undefined:
      return `If callers sign in there, add --account. If it takes a key, put that into .dev.vars as ${variable}=… and add --bearer, or --header NAME for another header than Authorization (${DOCS}/remote-servers.md)`;
    case "account":
      return `To take its lists, put an access token of yours into .dev.vars as ${variable}=…: it is used for that alone (${DOCS}/remote-servers.md)`;
    case "bearer":
      return `See that ${variable} is valid, and that the server takes it as a bearer token`;
    default:
      return `See that ${variable} is valid, and that the server takes it in the header ${key.header}`;
  }
}

const manifestOf = (
  name: string,
  snapshot: RemoteSnapshot,
  url: URL,
  { key, signIn }: { key: KeyForm; signIn: RemoteSignIn | undefined },
): Json => ({
  $schema: "",
  description: `Serves ${snapshot.name} (${url.host}), another MCP server.`,
  prefix: name,
  allowed_hosts: [url.hostname],
  ...(signIn === undefined
    ? key !== undefined && { allowed_secrets: [{ service: name, user: "key" }] }
    : { accounts: { [name]: { hosts: [url.hostname], ...signIn } } }),
  // Each caller has sessions of its own; the lists of remote.json are the same for all.
  ...(snapshot.session && { state: "caller", lists: "baked" }),
});

function codeOf(name: string, { name: server, url }: RemoteSnapshot, key: KeyForm): string {
  const secret = JSON.stringify(name);
  const as = typeof key === "object" ? `{ header: ${JSON.stringify(key.header)} }` : '"bearer"';
  const keys = key === undefined ? "" : `, { keys: [{ secret: ${secret}, as: ${as} }] }`;
  const options = key === "account" ? `, { account: ${secret} }` : keys;
  return `/** Serves ${server}, the MCP server at ${new URL(url).host}. remote.json has what it offers. */
import { defineRemote } from "edge-servlets/remote";
import { defineServlet } from "edge-servlets/servlet";
import remote from "./${SNAPSHOT}";

export default defineServlet(defineRemote(remote${options}));
`;
}

function testOf(
  { tools = [], version, session }: RemoteSnapshot,
  name: string,
  key: KeyForm,
): string {
  const calls = tools.flatMap((tool) => {
    const args = exampleOf(tool.inputSchema as Json);
    return args === undefined ? [] : [{ tool: tool.name, args }];
  });
  const cost = ({ args }: { args: Json }) => JSON.stringify(args).length;
  const call = calls.toSorted((a, b) => cost(a) - cost(b))[0];
  const listed = `import { loadServlet${call ? ", type Script" : ""} } from "edge-servlets/testing";
import { expect, test } from "vitest";
import remote from "./${SNAPSHOT}";

const servlet = await loadServlet(import.meta.dirname);

test("lists what the server offered", async () => {
  const { tools } = await servlet.list();
  expect(tools).toHaveLength(remote.tools.length);
});
`;
  if (call === undefined) return listed;
  const methods = [...(session ? ["initialize", "notifications/initialized"] : []), "tools/call"];
  return `${listed}
test("passes a call on", async () => {
  const methods: string[] = [];
  const script: Script = {
    ${key === undefined ? "" : `caller: "ada", ${key === "account" ? "accounts" : "secrets"}: { ${JSON.stringify(name)}: "key" },`}
    fetch: async (request) => {
      const { id, method } = (await request.json()) as { id?: number; method: string };
      methods.push(method);
      if (id === undefined) return new Response(null, { status: 202 });
      const result = {
        resultType: "complete",
        protocolVersion: ${JSON.stringify(version)},
        content: [{ type: "text", text: "ok" }],
      };
      const headers = { ${session ? '"mcp-session-id": "1"' : ""} };
      return Response.json({ jsonrpc: "2.0", id, result }, { headers });
    },
  };
  const { result } = await servlet.callTool(${JSON.stringify(`${name}-${call.tool}`)}, ${JSON.stringify(call.args)}, script);
  expect(methods).toEqual(${JSON.stringify(methods)});
  expect(result.content).toEqual([{ type: "text", text: "ok" }]);
});
`;
}

async function formatted(file: string, text: string): Promise<string> {
  const { code, errors } = await format(file, text, { printWidth: 100 });
  if (errors.length > 0) throw new Error(`${file} cannot be formatted: ${errors[0]!.message}`);
  return code;
}

interface Generated {
  snapshot: RemoteSnapshot;
  left: readonly string[];
  url: URL;
  key: KeyForm;
  signIn: RemoteSignIn | undefined;
}

function notesOn(name: string, { snapshot, left, url, key, signIn }: Generated): string[] {
  const { tools = [], resources = [], resourceTemplates = [], prompts = [] } = snapshot;
  const kinds = { tool: tools, resource: resources, "resource template": resourceTemplates };
  const counts = Object.entries({ ...kinds, prompt: prompts }).flatMap(([kind, { length }]) =>
    length === 0 ? [] : [length === 1 ? `1 ${kind}` : `${length} ${kind}s`],
  );
  return [
    `${snapshot.name} at ${url.host} speaks MCP ${snapshot.version}${snapshot.session ? ", with sessions" : ""}, and offers ${counts.join(", ")}:`,
    ...tools.map(
      ({ name: tool, description = "" }) =>
        `  ${name}-${tool}  ${shortened(printableLine(description), 100)}`,
    ),
    ...leftOut(left),
    `These descriptions are not yours: read ${SNAPSHOT} before you deploy it. They stay as they are until you run:`,
    `  npm run servlets -- renew ${name}`,
    ...(signIn === undefined
      ? []
      : [`Callers connect their account at ${signIn.issuer}, which servlet.json pins.`]),
    ...(key === undefined || key === "account"
      ? []
      : [`Its key is a secret: npx wrangler secret put ${variableOf(name)}`]),
    ...(isPrivate(url.hostname)
      ? [
          `${url.hostname} is in a private network: only a server of npm start with --private-network reaches it.`,
        ]
      : []),
  ];
}

const leftOut = (left: readonly string[]): string[] =>
  left.length === 0 ? [] : ["Left out:", ...left.slice(0, 20).map((line) => `  ${line}`)];

/** The differences between two snapshots, one a line. */
function differences(old: RemoteSnapshot, renewed: RemoteSnapshot): string[] {
  const lists = [
    ["tool", old.tools, renewed.tools, "name"],
    ["prompt", old.prompts, renewed.prompts, "name"],
    ["resource", old.resources, renewed.resources, "uri"],
    ["resource template", old.resourceTemplates, renewed.resourceTemplates, "uriTemplate"],
  ] as const;
  const changes = lists.flatMap(([kind, before = [], after = [], key]) => {
    const named = (all: readonly object[]) =>
      new Map(all.map((one) => [printableLine(textIn((one as Json)[key])), one as Json]));
    const [olds, news] = [named(before), named(after)];
    return [
      ...[...news].flatMap(([id, one]) => {
        const was = olds.get(id);
        if (was === undefined) return [`  + ${kind} ${id}`];
        const changed = [...new Set([...Object.keys(was), ...Object.keys(one)])].filter(
          (member) => sorted(was[member]) !== sorted(one[member]),
        );
        return changed.length === 0 ? [] : [`  ~ ${kind} ${id}: ${changed.join(", ")}`];
      }),
      ...[...olds.keys()].filter((id) => !news.has(id)).map((id) => `  - ${kind} ${id}`),
    ];
  });
  const own = (["name", "version", "instructions"] as const)
    .filter((member) => old[member] !== renewed[member])
    .map(
      (member) => `  ~ its ${member}: ${shortened(printableLine(renewed[member] ?? "none"), 200)}`,
    );
  return [...own, ...changes];
}

/** JSON with sorted members. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    isObject(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  ) ?? "";
