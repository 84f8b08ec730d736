/**
 * The shapes of MCP that handlers give and are given.
 * https://modelcontextprotocol.io/specification/2026-07-28/schema
 */
import type { Context } from "./context.ts";
import type { InputOf, OutputOf } from "./infer.ts";

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

/** What is asked of the client; `method` is MCP's. */
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

interface Described {
  title?: string;
  description?: string;
  icons?: readonly Icon[];
  _meta?: Record<string, unknown>;
}

/** A tool without an output schema: text, content, or a plain object that becomes structured content. */
export type ToolOutput =
  | string
  | number
  | boolean
  | null
  | undefined
  | void
  | ContentBlock
  | readonly unknown[]
  | ToolResult
  | InputRequired
  | object;

/** What a tool's handler may give where its output schema is `O`. */
export type ToolReturn<O> = unknown extends O
  ? ToolOutput | Promise<ToolOutput>
  :
      | Given<InputOf<O>>
      | ToolResult
      | InputRequired
      | Promise<Given<InputOf<O>> | ToolResult | InputRequired>;

/** What may stand for a `T` where it is only read. */
type Given<T> = T extends readonly (infer E)[]
  ? readonly Given<E>[]
  : T extends object
    ? { [K in keyof T]: Given<T[K]> }
    : T;

export interface ToolFrame<I> extends Described {
  /** A zod schema (or one of another library that speaks Standard Schema) or a JSON Schema. */
  input?: I;
  annotations?: ToolAnnotations;
  /** Whether the tool may be, or must be, run as a task. */
  execution?: { taskSupport?: "forbidden" | "optional" | "required" };
}

/** One tool. */
export interface ToolSpec<I = unknown, O = unknown> extends ToolFrame<I> {
  output?: O;
  handler(args: OutputOf<I>, context: Context): ToolReturn<O>;
}

/** What a resource gives when it is read. Bytes become base64. */
export type ResourceOutput =
  | string
  | Uint8Array
  | Partial<ResourceContents>
  | readonly Partial<ResourceContents>[]
  | { contents: readonly ResourceContents[]; _meta?: Record<string, unknown> }
  | InputRequired;

interface ResourceFrame extends Described {
  name: string;
  mimeType?: string;
  annotations?: Annotations;
}

/** One resource; its key is its URI. */
export interface ResourceSpec extends ResourceFrame {
  size?: number;
  read(uri: string, context: Context): ResourceOutput | Promise<ResourceOutput>;
}

/** Gives what `value` may become; the host keeps the first hundred. */
export type Complete = (
  value: string,
  settled: { arguments: Readonly<Record<string, string>> },
) => readonly string[] | Promise<readonly string[]>;

/** Resources of one form; its key is a URI template (RFC 6570). */
export interface ResourceTemplateSpec extends ResourceFrame {
  read(
    uri: string,
    variables: Readonly<Record<string, string>>,
    context: Context,
  ): ResourceOutput | Promise<ResourceOutput>;
  /** By variable. */
  complete?: Record<string, Complete>;
}

export interface PromptArgument<Required = unknown> {
  title?: string;
  description?: string;
  required?: Required & boolean;
  complete?: Complete;
}

export interface PromptMessage {
  role: "user" | "assistant";
  content: ContentBlock | string;
}

/** What a prompt gives: text of the user, or messages. */
export type PromptOutput =
  | string
  | readonly PromptMessage[]
  | { description?: string; messages: readonly PromptMessage[]; _meta?: Record<string, unknown> }
  | InputRequired;

/** A prompt's arguments; `A` says which of them are required. */
export type PromptArguments<A> = unknown extends A
  ? Record<string, string>
  : {
      [K in keyof A as A[K] extends true ? K : never]: string;
    } & { [K in keyof A as A[K] extends true ? never : K]?: string };

/** One prompt. */
export interface PromptSpec<A = unknown> extends Described {
  arguments?: { [K in keyof A]: PromptArgument<A[K]> };
  get(args: PromptArguments<A>, context: Context): PromptOutput | Promise<PromptOutput>;
}

export interface Root {
  uri: string;
  name?: string;
}

export interface SamplingMessage {
  role: "user" | "assistant";
  content: ContentBlock | ContentBlock[];
}

/** What `context.sample` asks of the client's model. */
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

/** The client that made the request, as it said of itself. */
export interface Client {
  capabilities: Record<string, unknown>;
  name?: string;
  version?: string;
  /** The revision of MCP that it speaks. */
  protocolVersion?: string;
  /** Who is calling: `anonymous`, or the name of what they proved to hold. */
  principal?: string;
}
