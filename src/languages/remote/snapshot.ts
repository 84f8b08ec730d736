/** Takes the lists of another MCP server for `remote.json`. */
import {
  type RemoteCaller,
  RemoteClient,
  keysIn,
  RemoteFault,
  type RemoteConnection,
} from "../../kit/remote-client.ts";
import type { RemoteSnapshot } from "../../kit/remote.ts";
import { fits } from "../../server/kernel/core/glob.ts";
import { isObject, type Json } from "../../server/kernel/core/model.ts";
import { printableLine, shortened, textIn } from "../../server/kernel/core/text.ts";
import { VERSION } from "../../server/kernel/core/version.ts";
import { DOCS } from "../../tools/bundle/own.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { nodeWire } from "./connection.ts";
import { promptsIn, resourcesIn, templatesIn, toolsIn } from "./entries.ts";

/** Maximum tools of a servlet: a model chooses badly among hundreds. */
const MOST_TOOLS = 40;
/** Maximum characters of instructions, and of the whole snapshot. */
const [MOST_INSTRUCTIONS, MOST_CHARACTERS] = [1000, 1_000_000];
/** Maximum tools named in a message. */
const MOST_NAMED = 60;

/** A snapshot. */
export interface TakenSnapshot {
  snapshot: RemoteSnapshot;
  /** The entries that were left out, with reasons. */
  left: string[];
}

interface TakeOptions {
  url: string;
  headers: Record<string, string>;
  /** Globs of names of tools and prompts, and of URIs of resources; all by default. */
  only: readonly string[];
  /** Advice if the server refuses the credentials. */
  unauthorized: string;
}

const NO_CALLER: RemoteCaller = {
  capabilities: {},
  meta: {},
  notify: () => {},
  ask: () =>
    Promise.reject(new RemoteFault("invalid", "asked a question while its lists were taken")),
};

/** Connects to the server and takes its lists. Throws a `Refusal`. */
export async function takeSnapshot(options: TakeOptions): Promise<TakenSnapshot> {
  const { url } = options;
  const wire = nodeWire(url);
  const info = { name: "edge-servlets", version: VERSION };
  const client = new RemoteClient({ version: "" }, { wire, info, headers: options.headers });
  try {
    const about = await client.begin(NO_CALLER);
    return await listsOf(client, about, options);
  } catch (error) {
    if (!(error instanceof RemoteFault)) throw error;
    const { kind, message } = error;
    const advice = {
      unauthorized: options.unauthorized,
      unreachable: "See that the URL is right and the server runs",
      refused: "See that the URL is that of an MCP server (Streamable HTTP)",
      "session-lost": "See that the URL is that of an MCP server (Streamable HTTP)",
      invalid: "See that the URL is that of an MCP server (Streamable HTTP)",
      "unknown-outcome": "Try again",
    }[kind];
    const verb =
      { refused: " refused: ", unreachable: " cannot be reached: " }[kind as "refused"] ?? " ";
    throw new Refusal(`${url}${verb}${printableLine(message).replace(/\.$/, "")}. ${advice}`);
  } finally {
    wire.end();
  }
}

async function listsOf(
  client: RemoteClient,
  about: Json,
  { url, only, headers }: TakeOptions,
): Promise<TakenSnapshot> {
  const capabilities = isObject(about["capabilities"]) ? about["capabilities"] : {};
  const has = (name: string) => isObject(capabilities[name]);
  const isChosen = ({ uri, uriTemplate, name }: Json) =>
    only.length === 0 || only.some((glob) => fits(glob, textIn(uri ?? uriTemplate ?? name)));
  const list = async (isThere: boolean, method: string, member: string) =>
    isThere ? client.list(method, member, NO_CALLER) : [];
  const tools = await list(has("tools"), "tools/list", "tools");
  const resources = await list(has("resources"), "resources/list", "resources");
  // Some servers with resources do not know the method.
  const templates = await list(
    has("resources"),
    "resources/templates/list",
    "resourceTemplates",
  ).catch(() => []);
  const prompts = await list(has("prompts"), "prompts/list", "prompts");
  const left: string[] = [];
  const served = toolsIn(tools.filter(isChosen), left);
  const others = [...resources, ...templates, ...prompts];
  if (!others.some(isChosen)) refuseNone({ url, only, tools, served });
  refuseMany({ url, only, tools, served });
  const { session, version } = client.connection satisfies RemoteConnection;
  const instructions = textIn(about["instructions"]).trim();
  const snapshot: RemoteSnapshot = {
    name: nameOf(about, url),
    url,
    version,
    ...(session !== undefined && { session: true }),
    taken: new Date().toISOString().slice(0, 10),
    ...(only.length > 0 && { only }),
    ...(instructions !== "" && { instructions: shortened(instructions, MOST_INSTRUCTIONS) }),
    ...(has("completions") && { completes: true }),
    tools: served,
    resources: resourcesIn(resources.filter(isChosen), left),
    resourceTemplates: templatesIn(templates.filter(isChosen), left),
    prompts: promptsIn(prompts.filter(isChosen), left),
  };
  const lists = [snapshot.tools, snapshot.resources, snapshot.resourceTemplates, snapshot.prompts];
  if (lists.flat().length === 0) {
    const why = left.length > 0 ? ` that can be served: ${left.slice(0, 5).join("; ")}` : "";
    throw new Refusal(`${url} offers no tools, resources or prompts${why}`);
  }
  const json = JSON.stringify(snapshot);
  if (keysIn(headers).some((key) => json.includes(JSON.stringify(key).slice(1, -1))))
    throw new Refusal(
      `${url}: its lists repeat the key, which must be in no file. Tell its operator, and replace the key`,
    );
  if (json.length > MOST_CHARACTERS)
    throw new Refusal(
      `${url}: its lists are larger than ${MOST_CHARACTERS} characters. Choose some of its tools by --only GLOB`,
    );
  return { snapshot, left };
}

interface Choice {
  url: string;
  only: readonly string[];
  tools: readonly Json[];
  served: readonly unknown[];
}

function refuseNone({ url, only, tools, served }: Choice): void {
  if (only.length > 0 && served.length === 0)
    throw new Refusal(`${url}: --only fits none of its ${tools.length} tools: ${namesOf(tools)}`);
}

function refuseMany({ url, only, tools, served }: Choice): void {
  if (served.length <= MOST_TOOLS) return;
  throw new Refusal(
    `${url} has ${served.length} tools${only.length > 0 ? " that --only fits" : ""}, and a model chooses badly among more than ${MOST_TOOLS}. Choose by --only GLOB, which can be repeated: ${namesOf(tools)} (${DOCS}/remote-servers.md)`,
  );
}

function namesOf(tools: readonly Json[]): string {
  const names = tools.map(({ name }) => textIn(name)).toSorted();
  const more = names.length > MOST_NAMED ? [`and ${names.length - MOST_NAMED} more`] : [];
  return [...names.slice(0, MOST_NAMED), ...more].join(", ");
}

/** The server's name for people, without characters that could forge parts of a message. */
function nameOf(about: Json, url: string): string {
  const meta = isObject(about["_meta"]) ? about["_meta"] : {};
  const info = meta["io.modelcontextprotocol/serverInfo"] ?? about["serverInfo"];
  const { title, name } = isObject(info) ? info : {};
  const given = (textIn(title) || textIn(name)).replaceAll(/[^\p{L}\p{N} ._-]+/gu, " ").trim();
  return given === "" ? new URL(url).hostname : shortened(given, 60);
}
