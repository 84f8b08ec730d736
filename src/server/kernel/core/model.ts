/** The neutral types that rooms exchange. They follow the newest MCP; eras and dialects translate. */
import type {
  CallToolResultSchema,
  CompleteResultSchema,
  ContentBlockSchema,
  GetPromptResultSchema,
  PromptSchema,
  ReadResourceResultSchema,
  ResourceSchema,
  ResourceTemplateSchema,
  ToolSchema,
} from "@modelcontextprotocol/core";
import type { z } from "zod";

export type Json = Record<string, unknown>;

/**
 * The keyword that marks a schema whose values the servlet transforms before it checks them, as `z.coerce` and
 * `z.preprocess` do: the server does not check these values. Lists for clients omit the keyword.
 */
export const CHECKED_BY_SERVLET = "x-checked-by-servlet";

export type Tool = z.infer<typeof ToolSchema>;
export type Resource = z.infer<typeof ResourceSchema>;
export type ResourceTemplate = z.infer<typeof ResourceTemplateSchema>;
export type Prompt = z.infer<typeof PromptSchema>;
export type McpContentBlock = z.infer<typeof ContentBlockSchema>;
export type CallToolResult = z.infer<typeof CallToolResultSchema>;
export type ReadResourceResult = z.infer<typeof ReadResourceResultSchema>;
export type GetPromptResult = z.infer<typeof GetPromptResultSchema>;
export type CompleteResult = z.infer<typeof CompleteResultSchema>;

/** The lists of one servlet, or of all servlets. */
export interface Lists {
  tools: Tool[];
  resources: Resource[];
  resourceTemplates: ResourceTemplate[];
  prompts: Prompt[];
}

/** Who is calling: `anonymous`, or the name that their credential proves. */
export interface Principal {
  readonly name: string;
  /** Granted scopes; absent for full access. */
  readonly scopes?: readonly string[];
  /** The network of an anonymous caller, if known. */
  readonly address?: string;
  /** The profile at whose endpoint it calls; absent at `/mcp`. A session, task or state belongs to one endpoint. */
  readonly profile?: string;
}

/** The scope of operators, who see what servlets keep for any caller. No other scope includes it. */
export const OPERATOR_SCOPE = "operator";

/** The variables and secrets that make the server require authentication if any is set. */
export const AUTH_VARIABLES = ["OWNER_PASSPHRASE", "SIGN_IN", "API_KEYS", "OAUTH_ISSUERS"] as const;

/** The principal of unauthenticated callers. */
export const ANONYMOUS: Principal = { name: "anonymous" };

/** The principal of the passphrase. */
export const OWNER = "owner";

const OF_SERVLETS = "servlet:";

/** The principal of a servlet that runs without a caller. No key or issuer gives such a name. */
export const servletPrincipal = (servlet: string): Principal => ({
  name: OF_SERVLETS + servlet,
});

/** True for the name of such a principal. */
export const isServletPrincipal = (name: string): boolean => name.startsWith(OF_SERVLETS);

/** Quota checks of one caller. Both throw `too_many`. */
export interface CallerQuota {
  /** Counts a call, or a call of the named tool; absent if calls are not limited. */
  admit?: ((tool?: string) => Promise<void>) | undefined;
  /** Counts a stored object and its bytes: a session, a task, a state, a recorded call. */
  countStored(bytes?: number): Promise<void>;
}

/**
 * The recipients of a change in a servlet's state: everybody, one session, or the clients of a caller key, with
 * `isSessionless` only those without a session.
 */
export type Audience =
  | { everybody: true }
  | { session: string }
  | { caller: string; isSessionless?: true };

/** An MCP notification that a servlet sends during a call. */
export interface Notification {
  method: string;
  params?: Json;
  /** Recipients of a change: by default all clients of the caller's principal. */
  audience?: Audience;
  /** The servlet that reports an updated resource. */
  servlet?: string;
  /** True for a notification from a nested call: it does not count for the outer call. */
  isInner?: true;
}

/** True for a notification that a resource has changed. */
export const isUpdate = ({ method }: Notification): boolean =>
  method === "notifications/resources/updated";

/** True for a notification that a list or a resource has changed. */
export const isChange = (notification: Notification): boolean =>
  notification.method.endsWith("/list_changed") || isUpdate(notification);

/**
 * A tool as Open Tool Calling describes it.
 * https://github.com/OpenToolCalling/Specification/blob/main/spec/http/1.0/openapi.json
 */
export interface ToolDefinition {
  /** `Toolkit.Tool@x.y.z` */
  id: string;
  name: string;
  description: string;
  version: string;
  input_schema: { parameters: Json };
  output_schema: Json | null;
  requirements?: Requirements;
}

/** Requirements of a tool besides its input. */
export interface Requirements {
  authorization?: { id: string; oauth2?: { scopes?: string[] } }[];
  secrets?: { id: string }[];
  user_id?: boolean;
}

/** True for a JSON object: neither an array nor null. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The texts in the content of a result, which may have any shape. */
export function textsIn(result: unknown): string[] {
  const content: unknown = isObject(result) ? result["content"] : undefined;
  const all: unknown[] = Array.isArray(content) ? content : [];
  return all
    .map((one) => (isObject(one) ? one["text"] : undefined))
    .filter((text) => typeof text === "string" && text !== "") as string[];
}
