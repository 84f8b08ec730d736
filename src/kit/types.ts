/**
 * The MCP types that handlers return and receive.
 * https://modelcontextprotocol.io/specification/2026-07-28/schema
 */

/**
 * Hints for the client about content: its audience, its priority from 0 to 1, and the time of its last change (ISO 8601).
 *
 * @example
 * const annotations: Annotations = { audience: ["user"], priority: 0.8 };
 */
export interface Annotations {
  audience?: ("user" | "assistant")[];
  priority?: number;
  lastModified?: string;
}

/**
 * An icon; `src` is an https or data URL, `sizes` has entries such as "48x48" or "any".
 *
 * @example
 * const icon: Icon = { src: "https://example.com/icon.png", mimeType: "image/png", sizes: ["48x48"] };
 */
export interface Icon {
  src: string;
  mimeType?: string;
  sizes?: string[];
  theme?: "light" | "dark";
}

interface Block {
  annotations?: Annotations;
  _meta?: Record<string, unknown>;
}

/**
 * The contents of a resource; `blob` is base64, or bytes that are sent as base64.
 *
 * @example
 * const contents: ResourceContents = { uri: "note://today", text: "Water the plants." };
 */
export type ResourceContents = {
  uri: string;
  mimeType?: string;
  _meta?: Record<string, unknown>;
} & ({ text: string } | { blob: string | Uint8Array });

/**
 * A block of content in a result or a message.
 *
 * @example
 * const blocks: ContentBlock[] = [
 *   { type: "text", text: "A red dot:" },
 *   { type: "image", data: new Uint8Array([137, 80, 78, 71]), mimeType: "image/png" },
 *   { type: "resource_link", uri: "note://today", name: "today" },
 * ];
 */
export type ContentBlock =
  | (Block & { type: "text"; text: string })
  /** `data` is base64, or bytes that are sent as base64. */
  | (Block & { type: "image" | "audio"; data: string | Uint8Array; mimeType: string })
  | (Block & { type: "resource"; resource: ResourceContents })
  | (Block & {
      type: "resource_link";
      uri: string;
      name: string;
      title?: string;
      description?: string;
      mimeType?: string;
      size?: number;
      icons?: Icon[];
    });

/**
 * The complete result of a tool, as the client gets it.
 *
 * @example
 * const result: ToolResult = {
 *   content: [{ type: "text", text: "22 °C" }],
 *   structuredContent: { celsius: 22 },
 * };
 * return result;
 */
export interface ToolResult {
  content: readonly ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

/**
 * A result that asks for input: the handler is called again, with the answers as `context.inputResponses` and this
 * `requestState`.
 *
 * @example
 * if (context.inputResponses !== undefined) return "done";
 * const asking: InputRequired = {
 *   resultType: "input_required",
 *   inputRequests: { folders: { method: "roots/list" } },
 *   requestState: "step 1",
 * };
 * return asking;
 */
export interface InputRequired {
  resultType: "input_required";
  inputRequests?: Record<string, InputRequest>;
  requestState?: string;
}

/**
 * A request to the client, for `context.requestInput` or an `InputRequired` result.
 *
 * @example
 * const request: InputRequest = { method: "roots/list" };
 * const { folders } = await context.requestInput({ folders: request });
 */
export interface InputRequest {
  method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  params?: Record<string, unknown>;
}

/**
 * Hints about a tool, on which the client must not rely.
 *
 * @example
 * const annotations: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
 */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/**
 * The members that describe a tool, resource or prompt to people and models.
 *
 * @example
 * const described: Described = { title: "Weather", description: "The weather of a city" };
 */
export interface Described {
  title?: string;
  description?: string;
  icons?: readonly Icon[];
  _meta?: Record<string, unknown>;
}

/**
 * A folder or file that the user lets the server work on; `uri` is a `file:` URL.
 *
 * @example
 * const roots: Root[] = await context.roots();
 * return roots.map(({ uri }) => uri).join(", ");
 */
export interface Root {
  uri: string;
  name?: string;
}

/**
 * A message to or from the client's model.
 *
 * @example
 * const message: SamplingMessage = { role: "user", content: { type: "text", text: "Say hello." } };
 */
export interface SamplingMessage {
  role: "user" | "assistant";
  content: ContentBlock | ContentBlock[];
}

/**
 * Params of `context.sample`, for the client's model; priorities are from 0 to 1.
 *
 * @example
 * const params: SampleParams = {
 *   messages: [{ role: "user", content: { type: "text", text: "Say hello in French." } }],
 *   maxTokens: 20,
 * };
 * const { content } = await context.sample(params);
 * return content;
 */
export interface SampleParams {
  messages: SamplingMessage[];
  maxTokens: number;
  systemPrompt?: string;
  temperature?: number;
  stopSequences?: string[];
  modelPreferences?: {
    hints?: { name?: string }[];
    costPriority?: number;
    speedPriority?: number;
    intelligencePriority?: number;
  };
  metadata?: Record<string, unknown>;
  [other: string]: unknown;
}

/**
 * The answer of the client's model.
 *
 * @example
 * const answer: SampleResult = await context.sample({
 *   messages: [{ role: "user", content: { type: "text", text: "Say hello." } }],
 *   maxTokens: 20,
 * });
 * return `${answer.model}, ${answer.stopReason ?? "done"}`;
 */
export interface SampleResult {
  role: "user" | "assistant";
  content: ContentBlock;
  model: string;
  stopReason?: string;
}

/**
 * The level of a log message, from the least severe to the most severe. https://www.rfc-editor.org/rfc/rfc5424#section-6.2.1
 *
 * @example
 * const level: LoggingLevel = "warning";
 * context.log(level, { left: 3 });
 */
export type LoggingLevel =
  | "debug"
  | "info"
  | "notice"
  | "warning"
  | "error"
  | "critical"
  | "alert"
  | "emergency";

/**
 * The client that made the request, as it describes itself.
 *
 * @example
 * const { name = "unknown", capabilities }: Client = context.client;
 * return "elicitation" in capabilities ? `${name} can ask its user` : `${name} cannot`;
 */
export interface Client {
  capabilities: Record<string, unknown>;
  name?: string;
  version?: string;
  /** The version of MCP that the client uses. */
  protocolVersion?: string;
  /** Whether the client shows views. */
  views: boolean;
  /** The caller: `anonymous`, or the name that the caller's credential proves. */
  principal?: string;
  /** The session, by an opaque name; undefined for clients without sessions. */
  session?: string;
}
