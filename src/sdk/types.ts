/**
 * The shapes of MCP that handlers return and receive.
 * https://modelcontextprotocol.io/specification/2026-07-28/schema
 */

export interface Annotations {
  audience?: ("user" | "assistant")[];
  priority?: number;
  lastModified?: string;
}

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

/** `blob` is base64, or bytes that become it. */
export type ResourceContents = {
  uri: string;
  mimeType?: string;
  _meta?: Record<string, unknown>;
} & ({ text: string } | { blob: string | Uint8Array });

export type ContentBlock =
  | (Block & { type: "text"; text: string })
  /** `data` is base64, or bytes that become it. */
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

export interface ToolResult {
  content: readonly ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

/** An unfinished answer: the handler is called again, with the answers as `context.inputResponses`. */
export interface InputRequired {
  resultType: "input_required";
  inputRequests?: Record<string, InputRequest>;
  requestState?: string;
}

/** A request to the client. */
export interface InputRequest {
  method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  params?: Record<string, unknown>;
}

export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

export interface Described {
  title?: string;
  description?: string;
  icons?: readonly Icon[];
  _meta?: Record<string, unknown>;
}

export interface Root {
  uri: string;
  name?: string;
}

export interface SamplingMessage {
  role: "user" | "assistant";
  content: ContentBlock | ContentBlock[];
}

/** Params of `context.sample`, for the client's model. */
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

export interface SampleResult {
  role: "user" | "assistant";
  content: ContentBlock;
  model: string;
  stopReason?: string;
}

export type LoggingLevel =
  | "debug"
  | "info"
  | "notice"
  | "warning"
  | "error"
  | "critical"
  | "alert"
  | "emergency";

/** The client that made the request, as it describes itself. */
export interface Client {
  capabilities: Record<string, unknown>;
  name?: string;
  version?: string;
  /** The revision of MCP that it speaks. */
  protocolVersion?: string;
  /** Who is calling: `anonymous`, or the name that their credential proves. */
  principal?: string;
}
