/** `xmcp`: each tool, prompt and resource is a file. */
import { isObject } from "../../server/kernel/core/model.ts";
import { authInfo } from "./extra.ts";
import { McpServer, ResourceTemplate } from "./mcp-server.ts";
import { offer, type Json } from "./registry.ts";

type Callback = (...given: unknown[]) => unknown;

interface File {
  default?: Callback;
  schema?: Json;
  outputSchema?: Json;
  metadata?: Json & { name?: string; description?: string };
}

/** The files of each kind, by path relative to the kind's folder. */
export interface Files {
  tools: Record<string, File>;
  prompts: Record<string, File>;
  resources: Record<string, File>;
}

/** Makes and registers a server from these files. */
export function serve(name: string, { tools, prompts, resources }: Files): void {
  const server = new McpServer({ name, version: "1.0.0" });
  for (const [path, file] of Object.entries(tools)) {
    const { default: handler, schema, outputSchema, metadata = {} } = file;
    const { name: named = nameOf(path), ...config } = metadata;
    const shapes = { inputSchema: schema ?? {}, ...(outputSchema && { outputSchema }) };
    server.registerTool(named, { ...config, ...shapes }, async (args, extra) => {
      const value = await handler!(args, extra);
      return isResult(value) ? value : { content: [contentOf(value)] };
    });
  }
  for (const [path, file] of Object.entries(prompts)) {
    const { default: handler, schema, metadata = {} } = file;
    const { name: named = nameOf(path), role = "user", ...config } = metadata;
    server.registerPrompt(named, { ...config, argsSchema: schema ?? {} }, async (args, extra) => {
      const value = await handler!(args, extra);
      return isResult(value) ? value : { messages: [{ role, content: contentOf(value) }] };
    });
  }
  for (const [path, file] of Object.entries(resources)) {
    const { default: handler, metadata = {} } = file;
    const { name: named = nameOf(path), ...config } = metadata;
    const uri = uriOf(path);
    const read = async (at: unknown, variables: unknown): Promise<unknown> => {
      const value = await handler!(isObject(variables) && "mcpReq" in variables ? {} : variables);
      if (isResult(value)) return value;
      const contents = { uri: String(at), mimeType: config["mimeType"], text: textOf(value) };
      return { contents: [contents] };
    };
    const place = uri.includes("{") ? new ResourceTemplate(uri, {}) : uri;
    server.registerResource(named, place, config, read);
  }
  offer(server.server);
}

const nameOf = (path: string): string => path.replace(/^.*\//, "").replace(/\.\w+$/, "");

/** The URI of a file: `(users)/[userId]/profile` becomes `users://{userId}/profile`. */
const uriOf = (path: string): string =>
  path
    .replace(/\.\w+$/, "")
    .replace(/^\(([^)]*)\)\//, "$1://")
    .replaceAll(/\/?\([^)]*\)/g, "")
    .replaceAll(/\[([^\]]*)\]/g, "{$1}");

const isResult = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  ["content", "structuredContent", "messages", "contents"].some((name) => name in value);

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

const contentOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "type" in value
    ? value
    : { type: "text", text: textOf(value) };

/** Empty: servlets do not see HTTP headers. */
export const headers = (): object => ({});
export const apiKeyAuthMiddleware = () => undefined;
export const jwtAuthMiddleware = () => undefined;
export { authInfo };
