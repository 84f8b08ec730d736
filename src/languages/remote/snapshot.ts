/** Takes the lists of another MCP server, and keeps what a servlet can serve of them. */
import {
  type Hearing,
  RemoteClient,
  RemoteFault,
  type RemoteConnection,
} from "../../kit/remote-client.ts";
import type { RemoteSnapshot } from "../../kit/remote.ts";
import { fits } from "../../server/kernel/core/glob.ts";
import { isObject, type Json } from "../../server/kernel/core/model.ts";
import { shortened, textIn } from "../../server/kernel/core/text.ts";
import { VERSION } from "../../server/kernel/core/version.ts";
import { DOCS } from "../../tools/bundle/own.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { nodeWire } from "./connection.ts";

/** More tools must be chosen among: a model chooses badly among hundreds. */
const MOST_TOOLS = 40;
/** Characters of instructions, of a description and of the whole snapshot. */
const [MOST_INSTRUCTIONS, MOST_DESCRIPTION, MOST_CHARACTERS] = [1000, 8000, 1_000_000];
/** Tools that are named where some must be chosen. */
const MOST_NAMED = 60;

/** A snapshot, what was left out of it, and how many tools there are. */
export interface TakenSnapshot {
  snapshot: RemoteSnapshot;
  left: string[];
}

interface TakeOptions {
  url: string;
  headers: Record<string, string>;
  /** Globs of names of tools; all by default. */
  only: readonly string[];
  /** Advice for a server that refuses the credentials. */
  unauthorized: string;
}

const SILENT: Hearing = {
  capabilities: {},
  meta: {},
  heard: () => {},
  ask: () =>
    Promise.reject(new RemoteFault("not-mcp", "asked a question while its lists were taken")),
};

/** Connects to the server and takes its lists. Throws a `Refusal` that says what is wrong and what to do. */
export async function takeSnapshot(options: TakeOptions): Promise<TakenSnapshot> {
  const { url } = options;
  const wire = nodeWire(url);
  const info = { name: "edge-servlets", version: VERSION };
  const client = new RemoteClient({ version: "" }, { wire, info, headers: options.headers });
  try {
    const about = await client.begin(SILENT);
    return await listsOf(client, about, options);
  } catch (error) {
    if (!(error instanceof RemoteFault)) throw error;
    const { kind, message } = error;
    const advice = {
      unauthorized: options.unauthorized,
      unreachable: "See that the URL is right and the server runs",
      refused: "See that the URL is that of an MCP server (Streamable HTTP)",
      gone: "See that the URL is that of an MCP server (Streamable HTTP)",
      "not-mcp": "See that the URL is that of an MCP server (Streamable HTTP)",
      "unknown-outcome": "Try again",
    }[kind];
    const verb =
      { refused: " refused: ", unreachable: " cannot be reached: " }[kind as "refused"] ?? " ";
    throw new Refusal(`${url}${verb}${message.replace(/\.$/, "")}. ${advice}`);
  } finally {
    wire.end();
  }
}

async function listsOf(
  client: RemoteClient,
  about: Json,
  { url, only }: TakeOptions,
): Promise<TakenSnapshot> {
  const capabilities = isObject(about["capabilities"]) ? about["capabilities"] : {};
  const has = (name: string) => isObject(capabilities[name]);
  const list = async (isThere: boolean, method: string, member: string) =>
    isThere ? client.list(method, member, SILENT) : [];
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
  const named = tools.filter(
    ({ name }) => only.length === 0 || only.some((glob) => fits(glob, textIn(name))),
  );
  const chosen = named.filter((tool) => {
    const why = whyNot(tool);
    if (why !== undefined)
      left.push(`${shortened(JSON.stringify(tool["name"]) ?? "a tool", 80)}: ${why}`);
    return why === undefined;
  });
  refuseChoice({ url, only, tools, chosen });
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
    tools: chosen.map(
      members(
        "name",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
        "execution",
      ),
    ),
    resources: resources
      .filter(({ uri }) => textIn(uri) !== "" && !textIn(uri).startsWith("ui://"))
      .map(members("uri", "name", "title", "description", "mimeType", "size")),
    resourceTemplates: templates
      .filter(({ uriTemplate }) => textIn(uriTemplate) !== "")
      .map(members("uriTemplate", "name", "title", "description", "mimeType")),
    prompts: prompts
      .filter(({ name }) => textIn(name) !== "")
      .map(members("name", "title", "description", "arguments")),
  } as unknown as RemoteSnapshot;
  if (JSON.stringify(snapshot).length > MOST_CHARACTERS)
    throw new Refusal(
      `${url}: its lists are larger than ${MOST_CHARACTERS} characters. Choose some of its tools by --only GLOB`,
    );
  return { snapshot, left };
}

/** Why a tool cannot be served; undefined if it can. */
function whyNot({ name, inputSchema, execution }: Json): string | undefined {
  if (!/^[\w.-]{1,100}$/.test(textIn(name)))
    return "its name has other characters than letters, digits, _, - and ., or is too long";
  if (!isObject(inputSchema) || inputSchema["type"] !== "object")
    return "its input schema does not describe an object";
  const { taskSupport = "optional" } = isObject(execution) ? execution : {};
  if (!["optional", "required", "forbidden"].includes(String(taskSupport)))
    return "it must be run in a way that is not known";
  return hasWrongHeaders(inputSchema)
    ? "its schema repeats arguments in headers (x-mcp-header) that cannot be"
    : undefined;
}

/**
 * True if arguments would be repeated in headers that have no name, the same name, or no simple value.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header
 */
export function hasWrongHeaders(schema: Json): boolean {
  const names = new Set<string>();
  const isWrong = (one: unknown): boolean => {
    if (!isObject(one) || !isObject(one["properties"])) return false;
    return Object.values(one["properties"]).some((property) => {
      if (!isObject(property)) return false;
      const { "x-mcp-header": name, type } = property;
      if (name !== undefined) {
        const text = textIn(name).toLowerCase();
        const isFit = /^[!#$%&'*+.^_`|~\w-]+$/.test(text) && !names.has(text);
        if (!isFit || !["string", "integer", "boolean"].includes(String(type))) return true;
        names.add(text);
      }
      return isWrong(property);
    });
  };
  return isWrong(schema);
}

function refuseChoice({
  url,
  only,
  tools,
  chosen,
}: {
  url: string;
  only: readonly string[];
  tools: Json[];
  chosen: Json[];
}): void {
  const names = tools.map(({ name }) => textIn(name)).toSorted();
  const some = [
    ...names.slice(0, MOST_NAMED),
    ...(names.length > MOST_NAMED ? [`and ${names.length - MOST_NAMED} more`] : []),
  ];
  if (only.length > 0 && chosen.length === 0)
    throw new Refusal(`${url}: --only fits none of its ${names.length} tools: ${some.join(", ")}`);
  if (chosen.length <= MOST_TOOLS) return;
  throw new Refusal(
    `${url} has ${chosen.length} tools${only.length > 0 ? " that --only fits" : ""}, and a model chooses badly among more than ${MOST_TOOLS}. Choose by --only GLOB, which can be repeated: ${some.join(", ")} (${DOCS}/remote-servers.md)`,
  );
}

/** Copies these members of a list's entry, where they are there. */
const members =
  (...names: string[]) =>
  (entry: Json): Json =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = entry[name];
        if (value === undefined || value === null) return [];
        return [
          [name, name === "description" ? shortened(textIn(value), MOST_DESCRIPTION) : value],
        ];
      }),
    );

/** The server's name for people, in characters that no message is confused by. */
function nameOf(about: Json, url: string): string {
  const meta = isObject(about["_meta"]) ? about["_meta"] : {};
  const info = meta["io.modelcontextprotocol/serverInfo"] ?? about["serverInfo"];
  const { title, name } = isObject(info) ? info : {};
  const given = (textIn(title) || textIn(name)).replaceAll(/[^\p{L}\p{N} ._-]+/gu, " ").trim();
  return given === "" ? new URL(url).hostname : shortened(given, 60);
}
