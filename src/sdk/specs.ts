/** The definitions of servlets, tools, resources and prompts, which `defineServlet` takes. */
import type { Context } from "./context.ts";
import type { InputOf, OutputOf } from "./infer.ts";
import type {
  Annotations,
  ContentBlock,
  Described,
  InputRequired,
  ResourceContents,
  ToolAnnotations,
  ToolResult,
} from "./types.ts";

/**
 * A tool without an output schema: text, content, or a plain object that becomes structured content. `null` is for none:
 * a handler that returns nothing has most likely forgotten to.
 */
export type ToolOutput =
  | string
  | number
  | boolean
  | null
  | ContentBlock
  | readonly unknown[]
  | ToolResult
  | InputRequired
  | Structured;

/** Any object but a promise. */
type Structured = object & { then?: never };

/** The return type of a tool's handler with the output schema `O`. */
export type ToolReturn<O> = unknown extends O
  ? ToolOutput | Promise<ToolOutput>
  : | Given<InputOf<O>>
    | ToolResult
    | InputRequired
    | Promise<Given<InputOf<O>> | ToolResult | InputRequired>;

/** A `T` that is only read. */
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

/** The return type of a resource's `read`. Bytes become base64. */
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

/** Returns completions of `value`; the host uses the first hundred. */
export type Complete = (
  value: string,
  settled: { arguments: Readonly<Record<string, string>> },
) => readonly string[] | Promise<readonly string[]>;

/** A resource as a template lists it. */
export interface ListedResource extends ResourceFrame {
  uri: string;
  size?: number;
}

/** Resources of one form; its key is a URI template (RFC 6570). */
export interface ResourceTemplateSpec extends ResourceFrame {
  /** Lists those that there are now. Needs `"lists": "dynamic"` in the manifest. */
  list?(context: Context): readonly ListedResource[] | Promise<readonly ListedResource[]>;
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

/** The return type of a prompt's `get`: text of the user, or messages. */
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

/** Definition of a servlet. */
export interface ServletSpec<
  I extends Record<string, unknown>,
  O extends Record<string, unknown>,
  P extends Record<string, unknown>,
> {
  /** By name. */
  tools?: {
    [K in keyof I]: ToolFrame<I[K]> & {
      output?: unknown;
      handler(
        args: OutputOf<I[K]>,
        context: Context,
      ): K extends keyof O ? ToolReturn<O[K]> : ToolReturn<unknown>;
    };
    // `handler` here as well: where no tool has an inferable member, `I` has no keys, and this alone names them.
  } & { [K in keyof O]: { output?: O[K]; handler: unknown } };
  /** By URI. */
  resources?: Record<string, ResourceSpec>;
  /** By URI template (RFC 6570). */
  resourceTemplates?: Record<string, ResourceTemplateSpec>;
  /** By name. */
  prompts?: { [K in keyof P]: PromptSpec<P[K]> };
  /** Called when the client's roots have changed. */
  rootsChanged?(context: Context): unknown;
}

/** A spec without the types of its schemas. */
export interface AnySpec {
  tools?: Record<string, ToolSpec>;
  resources?: Record<string, ResourceSpec>;
  resourceTemplates?: Record<string, ResourceTemplateSpec>;
  prompts?: Record<string, PromptSpec<Record<string, unknown>>>;
  rootsChanged?(context: Context): unknown;
}
