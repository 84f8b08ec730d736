/** The neutral shapes that rooms hand each other. They follow the newest MCP; eras and dialects translate. */
import type {
  CallToolResultSchema,
  CompleteResultSchema,
  ContentBlockSchema,
  GetPromptResultSchema,
  LoggingLevelSchema,
  PromptSchema,
  ReadResourceResultSchema,
  ResourceSchema,
  ResourceTemplateSchema,
  ToolSchema,
} from "@modelcontextprotocol/core";
import type { z } from "zod";

export type Json = Record<string, unknown>;

export type Tool = z.infer<typeof ToolSchema>;
export type Resource = z.infer<typeof ResourceSchema>;
export type ResourceTemplate = z.infer<typeof ResourceTemplateSchema>;
export type Prompt = z.infer<typeof PromptSchema>;
export type ContentBlock = z.infer<typeof ContentBlockSchema>;
export type CallToolResult = z.infer<typeof CallToolResultSchema>;
export type ReadResourceResult = z.infer<typeof ReadResourceResultSchema>;
export type GetPromptResult = z.infer<typeof GetPromptResultSchema>;
export type CompleteResult = z.infer<typeof CompleteResultSchema>;
export type LoggingLevel = z.infer<typeof LoggingLevelSchema>;

/** What one servlet lists, or all of them. */
export interface Lists {
  tools: Tool[];
  resources: Resource[];
  resourceTemplates: ResourceTemplate[];
  prompts: Prompt[];
}

/** Who is calling: `anonymous`, or the name of what they proved to hold. */
export interface Principal {
  readonly name: string;
}

/** What a servlet tells the caller before its call ends; `method` is MCP's. */
export interface Notification {
  method: string;
  params?: Json;
}

/** What a servlet asks of the client in the middle of a call; `method` is MCP's. */
export interface Ask {
  method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  params: Json;
}

/**
 * Answers what a guest asks of the client. Rejects with a `Fault` that ends the call, and soon after
 * `signal` aborts.
 */
export type Asker = (ask: Ask, signal: AbortSignal) => Promise<Json>;

/** What the client said of itself. */
export interface Client {
  /** The revision of MCP that the client speaks; absent where nobody asked. */
  protocolVersion?: string;
  capabilities: Json;
  name?: string;
  version?: string;
}

/** What a call brings along from the request that made it. */
export interface CallContext {
  /** The request's id, as the client gave it. */
  id: string | number;
  /** The request's `_meta`, as the client gave it. */
  meta: Json;
  principal: Principal;
  client: Client;
  /** Aborts when nobody waits for the result any more. */
  signal(): AbortSignal;
  /** Takes what the servlet says on the way. Never throws. */
  notify(notification: Notification): void;
  ask: Asker;
}

/** Is this a JSON object (no array, not null)? */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
