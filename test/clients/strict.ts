/**
 * The specification's own schemas, read strictly: a member that a revision does not have is refused, and so
 * is the lack of one that it demands. The files are the specification's `schema.json`, without descriptions.
 * https://github.com/modelcontextprotocol/modelcontextprotocol/tree/main/schema
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Json } from "../../src/server/kernel/core/model.ts";

/** Result types of the requests whose result is not named after the method. */
const RESULTS: Record<string, string[]> = {
  initialize: ["InitializeResult"],
  ping: ["EmptyResult"],
  "server/discover": ["DiscoverResult"],
  "tools/list": ["ListToolsResult"],
  "tools/call": ["CallToolResult", "CreateTaskResult", "InputRequiredResult"],
  "resources/list": ["ListResourcesResult"],
  "resources/templates/list": ["ListResourceTemplatesResult"],
  "resources/read": ["ReadResourceResult", "InputRequiredResult"],
  "resources/subscribe": ["EmptyResult"],
  "resources/unsubscribe": ["EmptyResult"],
  "prompts/list": ["ListPromptsResult"],
  "prompts/get": ["GetPromptResult", "InputRequiredResult"],
  "completion/complete": ["CompleteResult"],
  "logging/setLevel": ["EmptyResult"],
  "subscriptions/listen": ["SubscriptionsListenResult"],
  "tasks/get": ["GetTaskResult"],
  "tasks/result": ["CallToolResult"],
  "tasks/list": ["ListTasksResult"],
  "tasks/cancel": ["CancelTaskResult"],
};

/** Members that hold a JSON Schema; the revisions before 2026-07-28 describe them as closed, and mean any. */
const SCHEMAS = new Set(["inputSchema", "outputSchema"]);

type Definition = Json & { properties?: Record<string, { const?: unknown }> };

/** Methods of extensions, whose schemas are not in these files. */
const EXTENSION =
  /^(events\/|notifications\/events|tasks\/|notifications\/tasks|skills\/|resources\/directory)/;

export class Revision {
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  readonly #definitions: Record<string, Definition>;
  readonly #prefix: string;
  readonly #named = new Map<string, string>();
  readonly #version: string;

  constructor(version: string) {
    this.#version = version;
    const file = join(import.meta.dirname, "schemas", `${version}.json`);
    const schema = JSON.parse(readFileSync(file, "utf8")) as Record<
      string,
      Record<string, Definition>
    >;
    const key = "$defs" in schema ? "$defs" : "definitions";
    this.#definitions = schema[key]!;
    this.#prefix = `spec#/${key}/`;
    for (const [name, definition] of Object.entries(this.#definitions)) {
      const method = definition.properties?.["method"]?.const;
      if (typeof method === "string" && /(Request|Notification)$/.test(name))
        this.#named.set(method, name);
    }
    // The extension for events is declared there, too: ChatGPT reads it there.
    Object.assign(this.#definitions["ServerCapabilities"]!.properties!, {
      events: { type: "object" },
    });
    const closed = Object.entries(this.#definitions).map(([name, one]) => [name, this.#close(one)]);
    this.#ajv.addSchema({ $id: "spec", [key]: Object.fromEntries(closed) });
  }

  /** Faults of a message of the server; `method` is that of the request which it answers. */
  faults(message: Json, method: string | undefined): string[] {
    const { jsonrpc, ...rest } = message;
    if (jsonrpc !== "2.0") return ["jsonrpc is not 2.0"];
    if ("method" in message) return this.#notified(message);
    if ("error" in rest) {
      const name = this.#definitions["JSONRPCError"] ? "JSONRPCError" : "JSONRPCErrorResponse";
      // A request that could not be read has no id, which JSON-RPC writes as null.
      const id = rest["id"] ?? 0;
      return this.#check({ jsonrpc, ...rest, id }, [name], "an error");
    }
    const others = Object.keys(rest).filter((key) => key !== "id" && key !== "result");
    if (others.length > 0) return [`a response has ${others.join(", ")}`];
    if (method === undefined) return ["a response to no request"];
    const names = (RESULTS[method] ?? []).filter((name) => name in this.#definitions);
    if (names.length === 0 && EXTENSION.test(method)) return [];
    const result = rest["result"] as Json;
    if (result["resultType"] === "task" && this.#version >= "2026-07-28") return [];
    return [...this.#check(result, names, `the result of ${method}`), ...this.#schemasIn(result)];
  }

  #notified(message: Json): string[] {
    const method = String(message["method"]);
    const name = this.#named.get(method);
    if (name === undefined) {
      return EXTENSION.test(method) ? [] : [`${method} is no method of ${this.#version}`];
    }
    // Before 2025-11-25 the schema has the parts of the envelope elsewhere.
    const { jsonrpc: _jsonrpc, id: _id, ...bare } = message;
    const hasEnvelope = "jsonrpc" in (this.#definitions[name]?.properties ?? {});
    return this.#check(hasEnvelope ? message : bare, [name], method);
  }

  #check(value: unknown, names: string[], what: string): string[] {
    const reports = names.map((name) => {
      const validate = this.#ajv.getSchema(`${this.#prefix}${name}`) as ValidateFunction;
      if (validate(value)) return [];
      return validate.errors!.map(
        ({ instancePath, message, params }) =>
          `${what}: ${instancePath || "it"} ${message} ${JSON.stringify(params)}`,
      );
    });
    if (names.length === 0) return [`${what} has no schema in ${this.#version}`];
    // Of several shapes, the faults of the nearest one are reported.
    return reports.toSorted((a, b) => a.length - b.length)[0]!;
  }

  /** Each schema in a list of tools is one. */
  #schemasIn({ tools }: Json): string[] {
    if (!Array.isArray(tools)) return [];
    return (tools as Json[]).flatMap((tool) =>
      [...SCHEMAS].flatMap((key) => {
        const schema = tool[key] as Json | undefined;
        if (schema === undefined || this.#ajv.validateSchema(schema) === true) return [];
        return [`${key} of ${tool["name"] as string}: ${this.#ajv.errorsText()}`];
      }),
    );
  }

  /** Refuses members that are not described, wherever some are. */
  #close(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((one) => this.#close(one));
    if (typeof schema !== "object" || schema === null) return schema;
    const merged = "allOf" in schema ? this.#merge(schema as Json) : (schema as Json);
    const closed = Object.fromEntries(
      Object.entries(merged).map(([key, value]) => [key, this.#close(value)]),
    );
    for (const key of SCHEMAS) {
      const properties = closed["properties"] as Json | undefined;
      if (properties?.[key]) properties[key] = { type: "object", required: ["type"] };
    }
    const isObject = closed["properties"] !== undefined && closed["type"] === "object";
    if (isObject && closed["additionalProperties"] === undefined)
      closed["additionalProperties"] = false;
    return closed;
  }

  /** Merges the parts of `allOf` into one schema: closed parts would refuse each other's members. */
  #merge({ allOf, ...rest }: Json): Json {
    const parts = (allOf as Json[]).map((part) => {
      const name = (part["$ref"] as string | undefined)?.split("/").at(-1);
      return name === undefined ? part : this.#definitions[name]!;
    });
    const properties = Object.assign({}, ...parts.map((part) => part["properties"] ?? {}));
    const required = parts.flatMap((part) => (part["required"] as string[] | undefined) ?? []);
    return {
      ...rest,
      type: "object",
      properties: properties as Json,
      required: [...new Set(required)],
    };
  }
}
