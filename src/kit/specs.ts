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
 * The result of a tool without an output schema: text, content, or a plain object that becomes structured content. `null`
 * is an empty result; a handler that returns nothing does not compile, because most likely a `return` is missing.
 *
 * @example
 * const text: ToolOutput = "22 °C";
 * const structured: ToolOutput = { celsius: 22 };
 * const blocks: ToolOutput = [{ type: "text", text: "22 °C" }];
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

/** Any object except a promise; the record is for literals with a declared type. */
type Structured = (object | Record<string, unknown>) & { then?: never };

/**
 * The return type of a tool's handler with the output schema `O`: a value of the schema, or a result as the client gets it.
 *
 * @example
 * const schema = { type: "object", properties: { celsius: { type: "number" } } } as const;
 * const warm = (): ToolReturn<typeof schema> => ({ celsius: 22 });
 * return warm();
 */
export type ToolReturn<O> = unknown extends O
  ? ToolOutput | Promise<ToolOutput>
  : | Given<InputOf<O>>
    | ToolResult
    | InputRequired
    | Promise<Given<InputOf<O>> | ToolResult | InputRequired>;

/** A deeply readonly `T`. */
type Given<T> = T extends readonly (infer E)[]
  ? readonly Given<E>[]
  : T extends object
    ? { [K in keyof T]: Given<T[K]> }
    : T;

/**
 * The members of a tool besides its handler and its output; `I` is the type of its input schema.
 *
 * @example
 * const frame: ToolFrame<{ type: "object" }> = {
 *   description: "The time of the server",
 *   input: { type: "object" },
 *   annotations: { readOnlyHint: true },
 * };
 */
export interface ToolFrame<I> extends Described {
  /** A zod schema, a schema of another library that supports Standard Schema, or a JSON Schema. */
  input?: I;
  annotations?: ToolAnnotations;
  /** Whether the tool may, must or must not be run as a task. */
  execution?: { taskSupport?: "forbidden" | "optional" | "required" };
  /** The view that shows the tool's results: one of the servlet's `views`. */
  view?: string;
  /** Who may call the tool: models, the servlet's views ("app"), or both (the default). */
  visibility?: readonly ("model" | "app")[];
}

/**
 * A view: a page that clients show for the results of tools that name it. `file` is relative to the servlet's file: an HTML
 * document (`.html`), or a script (`.tsx`, `.ts`) from which a page is made. The page loads only from the origins in `csp`.
 *
 * @example
 * const board: ViewSpec = {
 *   file: "./board.tsx",
 *   title: "Task board",
 *   csp: { connectDomains: ["https://api.example.com"] },
 * };
 */
export interface ViewSpec {
  file: string;
  title?: string;
  description?: string;
  /** Origins, such as `https://cdn.example.com`. */
  csp?: {
    /** For requests that the page makes. */
    connectDomains?: readonly string[];
    /** For scripts, styles, images and fonts. */
    resourceDomains?: readonly string[];
    /** For frames in the page. */
    frameDomains?: readonly string[];
    /** For the page's base URI. */
    baseUriDomains?: readonly string[];
  };
  /** Browser permissions that the page needs; none by default. */
  permissions?: readonly ("camera" | "microphone" | "geolocation" | "clipboardWrite")[];
  /** Whether clients should draw a border around the view. */
  prefersBorder?: boolean;
}

/**
 * A type of events, which clients and people subscribe to.
 *
 * @example
 * const opened: EventSpec = {
 *   description: "An issue was opened",
 *   input: { type: "object", properties: { repository: { type: "string" } } },
 *   payload: {
 *     type: "object",
 *     properties: { repository: { type: "string" }, title: { type: "string" } },
 *     required: ["repository", "title"],
 *   },
 * };
 */
export interface EventSpec {
  /** When it happens and what it tells, for models and people. */
  description: string;
  /**
   * The arguments by which a subscriber narrows it: each one given must equal the member of the data with the same name. A zod
   * schema, a schema of another library that supports Standard Schema, or a JSON Schema.
   */
  input?: unknown;
  /** The data, as such a schema of an object. */
  payload: unknown;
  /** Allows `emit` with `to: "everyone"`: all callers who may subscribe to it hear it. */
  to?: "everyone";
}

/**
 * A tool. Its `handler` gets arguments that match `input`; a `ToolError` that it throws becomes the caller's result.
 *
 * @example
 * const now: ToolSpec = {
 *   description: "The time of the server",
 *   handler: () => new Date().toISOString(),
 * };
 */
export interface ToolSpec<I = unknown, O = unknown> extends ToolFrame<I> {
  output?: O;
  handler(args: OutputOf<I>, context: Context): ToolReturn<O>;
}

/**
 * The return type of a resource's `read`: text, bytes (sent as base64), or contents with members such as `mimeType`.
 *
 * @example
 * const text: ResourceOutput = "# Title";
 * const bytes: ResourceOutput = new Uint8Array([137, 80, 78, 71]);
 * const typed: ResourceOutput = { text: "a,b", mimeType: "text/csv" };
 */
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

/**
 * A resource; its key in `resources` is its URI. `size` is in bytes.
 *
 * @example
 * const readme: ResourceSpec = {
 *   name: "readme",
 *   mimeType: "text/markdown",
 *   read: () => "# Title",
 * };
 */
export interface ResourceSpec extends ResourceFrame {
  size?: number;
  read(uri: string, context: Context): ResourceOutput | Promise<ResourceOutput>;
}

/**
 * Returns completions of `value`, of which the client gets the first hundred; `settled.arguments` are the arguments that are
 * filled in already.
 *
 * @example
 * const cities = ["Berlin", "Bern", "Oslo"];
 * const complete: Complete = (value) => cities.filter((city) => city.startsWith(value));
 */
export type Complete = (
  value: string,
  settled: { arguments: Readonly<Record<string, string>> },
) => readonly string[] | Promise<readonly string[]>;

/**
 * A resource in a template's list. `size` is in bytes.
 *
 * @example
 * const listed: ListedResource = { uri: "book://dune", name: "dune", mimeType: "text/plain" };
 */
export interface ListedResource extends ResourceFrame {
  uri: string;
  size?: number;
}

/**
 * A family of resources; its key in `resourceTemplates` is a URI template (https://www.rfc-editor.org/rfc/rfc6570).
 *
 * @example
 * const books: ResourceTemplateSpec = {
 *   name: "books",
 *   read: (_uri, { title }) => `The text of ${title}`,
 *   complete: { title: (value) => ["dune", "emma"].filter((title) => title.startsWith(value)) },
 * };
 */
export interface ResourceTemplateSpec extends ResourceFrame {
  /** Lists the resources that exist now. Needs `"lists": "dynamic"` in the manifest. */
  list?(context: Context): readonly ListedResource[] | Promise<readonly ListedResource[]>;
  read(
    uri: string,
    variables: Readonly<Record<string, string>>,
    context: Context,
  ): ResourceOutput | Promise<ResourceOutput>;
  /** Completions by variable. */
  complete?: Record<string, Complete>;
}

/**
 * An argument of a prompt; its value is a string. `required` is false by default.
 *
 * @example
 * const tone: PromptArgument = {
 *   description: "How it is said",
 *   complete: (value) => ["formal", "friendly"].filter((tone) => tone.startsWith(value)),
 * };
 */
export interface PromptArgument<Required = unknown> {
  title?: string;
  description?: string;
  required?: Required & boolean;
  complete?: Complete;
}

/**
 * A message of a prompt.
 *
 * @example
 * const message: PromptMessage = { role: "user", content: "Summarise this text." };
 */
export interface PromptMessage {
  role: "user" | "assistant";
  content: ContentBlock | string;
}

/**
 * The return type of a prompt's `get`: the text of one user message, or messages.
 *
 * @example
 * const one: PromptOutput = "Summarise this text.";
 * const many: PromptOutput = [
 *   { role: "user", content: "Summarise this text." },
 *   { role: "assistant", content: "Which one?" },
 * ];
 */
export type PromptOutput =
  | string
  | readonly PromptMessage[]
  | { description?: string; messages: readonly PromptMessage[]; _meta?: Record<string, unknown> }
  | InputRequired;

/**
 * The arguments that a prompt's `get` receives; `A` says which of them are required.
 *
 * @example
 * const args: PromptArguments<{ text: true; tone: false }> = { text: "Arrakis." };
 */
export type PromptArguments<A> = unknown extends A
  ? Record<string, string>
  : {
      [K in keyof A as A[K] extends true ? K : never]: string;
    } & { [K in keyof A as A[K] extends true ? never : K]?: string };

/**
 * A prompt; its key in `prompts` is its name.
 *
 * @example
 * const summary: PromptSpec<{ text: true }> = {
 *   description: "Summarises a text",
 *   arguments: { text: { required: true } },
 *   get: ({ text }) => `Summarise this: ${text}`,
 * };
 */
export interface PromptSpec<A = unknown> extends Described {
  arguments?: { [K in keyof A]: PromptArgument<A[K]> };
  get(args: PromptArguments<A>, context: Context): PromptOutput | Promise<PromptOutput>;
}

/**
 * When a run of a schedule was due, and how many earlier due times it makes up for because the server could not run it then.
 *
 * @example
 * const late = ({ due, missed }: DueTime) => missed > 0 && `late since ${due.toISOString()}`;
 */
export interface DueTime {
  due: Date;
  missed: number;
}

/**
 * Times at which the servlet runs by itself, as `servlet:NAME`; its key in `schedules` is its name. `cron` has minute, hour, day
 * of the month, month and day of the week, in `timeZone` (an IANA name; UTC by default); or `every` has a period in ms, at least a
 * minute. An operator answers what `run` asks.
 *
 * @example
 * const digest: ScheduleSpec = {
 *   cron: "0 8 * * 1-5",
 *   timeZone: "Europe/Berlin",
 *   run: ({ log }) => log("info", "Good morning"),
 * };
 */
export type ScheduleSpec = ({ cron: string; timeZone?: string } | { every: number }) & {
  /** What it returns is the result of the run, which operators see. */
  run(context: Context, time: DueTime): unknown;
};

/**
 * The definition of a servlet; its type parameters are inferred from the schemas of `tools` and the arguments of `prompts`.
 *
 * @example
 * const spec: ServletSpec<{}, {}, {}> = {
 *   resources: { "note://today": { name: "today", read: () => "Water the plants." } },
 * };
 */
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
    // `handler` is repeated here: if no tool has an inferable member, `I` has no keys, and only this type names the tools.
  } & { [K in keyof O]: { output?: O[K]; handler: unknown } };
  /** How to use the tools, for models: joined to the instructions of the server. */
  instructions?: string;
  /** By name: lower-case letters, digits, "-" and "_". */
  views?: Record<string, ViewSpec>;
  /** The events that `context.emit` emits, by name: letters, digits, "_", "." and "-". */
  events?: Record<string, EventSpec>;
  /** That it makes files by `context.file`. A result of more characters than `resultsOver` becomes a file by itself. */
  files?: { resultsOver?: number };
  /** By URI. */
  resources?: Record<string, ResourceSpec>;
  /** By URI template (RFC 6570). */
  resourceTemplates?: Record<string, ResourceTemplateSpec>;
  /** By name. */
  prompts?: { [K in keyof P]: PromptSpec<P[K]> };
  /** By name: lower-case letters, digits, "-" and "_". Each is received at `/hooks/SERVLET/NAME`. */
  webhooks?: Record<string, WebhookSpec>;
  /** Called when the client's roots have changed. */
  rootsChanged?(context: Context): unknown;
  /** When it runs by itself, by name. */
  schedules?: Record<string, ScheduleSpec>;
}

/**
 * A delivery to a webhook, which the server has verified. Its texts are those of the sender, and of whoever the sender
 * quotes: check them, and let no model obey them.
 *
 * @example
 * const opened = ({ headers, body }: WebhookRequest): boolean =>
 *   headers["x-github-event"] === "issues" && JSON.parse(body).action === "opened";
 */
export interface WebhookRequest {
  /** The name of the webhook. */
  readonly name: string;
  /** The sender's id of the delivery, else one of the server. */
  readonly id: string;
  /** By their names in lower case; without signatures, tokens and cookies. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** True if the body is not UTF-8 text, and `body` therefore in base64. */
  readonly isBase64: boolean;
  /** ISO 8601. */
  readonly receivedAt: string;
}

/**
 * How deliveries are verified: by the signature of a known sender, by an HMAC as described, or not at all. `secret` is the
 * name of a Worker secret, which the servlet cannot read.
 *
 * @example
 * const github: WebhookVerification = { type: "github", secret: "GITHUB_WEBHOOK_SECRET" };
 * const described: WebhookVerification = {
 *   type: "hmac",
 *   secret: "SHOP_WEBHOOK_SECRET",
 *   header: "X-Shop-Signature",
 *   algorithm: "sha256",
 *   encoding: "base64",
 *   signed: "{timestamp}.{body}",
 *   timestamp: "X-Shop-Time",
 *   id: "X-Shop-Id",
 * };
 */
export type WebhookVerification =
  | {
      type: "github" | "stripe" | "slack" | "standard";
      secret: string;
      /** How old a signed time may be, or how far ahead; 300 by default. */
      toleranceSeconds?: number;
    }
  | {
      type: "hmac";
      secret: string;
      /** The header with the signature. */
      header: string;
      algorithm: "sha1" | "sha256" | "sha512";
      encoding: "hex" | "base64";
      /** Text before the signature, such as `sha256=`. */
      prefix?: string;
      /** What is signed: a text with `{body}` and, if they are signed, `{timestamp}` and `{id}`. */
      signed: string;
      /** The header with the time of sending, in seconds or ms since 1970. */
      timestamp?: string;
      /** The header with the id of the delivery: a repeated id runs nothing. */
      id?: string;
      toleranceSeconds?: number;
      /** With which a stored delivery is answered: 200 for a sender that takes no other. 202 by default. */
      status?: 200 | 202;
    }
  | {
      /** Takes deliveries from anybody. */
      type: "none";
      id?: string;
      status?: 200 | 202;
    };

/**
 * A webhook: what another service sends to `/hooks/SERVLET/NAME`. The server verifies a delivery, stores it and answers 202;
 * then `receive` runs, without a caller: with the servlet's state of scope `server`, and no accounts. At the URL that
 * `context.webhook(NAME)` gives a caller, it runs as that caller.
 *
 * @example
 * const issues: WebhookSpec = {
 *   description: "Issues of the team's repositories",
 *   verify: { type: "github", secret: "GITHUB_WEBHOOK_SECRET" },
 *   receive: ({ body }) => `Received: ${JSON.parse(body).action}`,
 * };
 */
export interface WebhookSpec {
  /** What it is for, for the people who set it up. */
  description?: string;
  verify: WebhookVerification;
  receive(
    request: WebhookRequest,
    context: Context,
  ): ToolOutput | void | Promise<ToolOutput | void>;
}
