import { allReasons, perform, type Waiting } from "../../kernel/calls/engine.ts";
import { report, tooSilent, type Fault } from "../../kernel/core/errors.ts";
import type { Answers, Ask, Asks } from "../../kernel/core/asks.ts";
import type { CallCredentials } from "../../kernel/core/call-context.ts";
import {
  isObject,
  type CallToolResult,
  type Json,
  type Principal,
} from "../../kernel/core/model.ts";
import { aboutOf } from "../../kernel/calls/shown-arguments.ts";
import type { Tasks } from "../../kernel/calls/task-object.ts";
import { linkOf, NOBODY, personWay } from "../../kernel/asks/links.ts";
import { limits } from "../../kernel/core/limits.ts";
import { cannotAsk } from "../../kernel/servlets/ask-failures.ts";
import { waitingIn } from "../../kernel/servlets/links.ts";
import type { Trace } from "../../kernel/observe/trace-context.ts";
import { inRequestSpan } from "../../kernel/observe/spans.ts";
import { hiding, type Redact } from "../../kernel/core/redaction.ts";
import { afterSending, type UnrecordedCall } from "../../kernel/core/unknown-outcome.ts";
import { mapValues } from "../../kernel/core/values.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { directoryOf } from "./directory.ts";

/** A validated call. */
export interface Call {
  call_id: string;
  trace_id?: string | undefined;
  /** Id of the tool, with its version. */
  tool: string;
  input: Json;
  credentials: CallCredentials;
  principal: Principal;
  /** The trace that its request is a part of. */
  trace?: Trace;
  /** Origin of the pages on which this caller's user answers; absent if nobody could open them. */
  pages?: string | undefined;
}

/** https://github.com/OpenToolCalling/Specification/blob/a35d61f/RFC.md#43-tool-response-schema */
export type CallToolResponse = { call_id: string; duration: number } & (
  | { success: true; value?: unknown }
  | { success: false; error: ToolError }
);

interface ToolError {
  message: string;
  developer_message?: string;
  can_retry?: boolean;
  additional_prompt_content?: string;
}

interface CallParts {
  registry: Registry;
  tasks: Tasks | undefined;
}

/**
 * Runs a tool, in a span if somebody listens. Never throws: any failure becomes the tool's error.
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/#execute-tool-span
 */
export const runTool = (
  parts: CallParts,
  { trace: received, ...call }: Call,
  signal: () => AbortSignal,
): Promise<CallToolResponse> => {
  const start = () => ({
    name: `execute_tool ${call.tool}`,
    attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.tool },
  });
  return inRequestSpan(received, start, async (trace, span) => {
    const response = await run(parts, { ...call, ...(trace && { trace }) }, signal);
    if (!response.success) span.set({ "error.type": "tool_error" });
    return response;
  });
};

async function run(
  { registry, tasks }: CallParts,
  call: Call,
  signal: () => AbortSignal,
): Promise<CallToolResponse> {
  const { call_id, trace_id, tool, input, credentials, principal, trace } = call;
  const began = Date.now();
  const hide = hiding(credentials);
  const ended = () => ({ call_id, duration: Date.now() - began });
  const unanswered = new UnansweredAsks();
  const failed = ({ message, developer_message }: ToolError): CallToolResponse => ({
    ...ended(),
    success: false,
    error: hidden(
      {
        message,
        ...(developer_message && { developer_message }),
        ...unanswered.hint,
      },
      hide,
    ),
  });
  const ask = async (asks: Asks): Promise<Answers> => {
    unanswered.add(asks);
    return unasked(asks);
  };
  const sender: UnrecordedCall = {};
  try {
    const catalog = await registry.catalog();
    const { entry, definition } = directoryOf(catalog).find(tool);
    const meta = trace_id === undefined ? {} : { trace_id };
    const context = { id: call_id, meta, principal, client: NOBODY, trace };
    // A task uses the newest version of the tool, and stores no credentials of the call.
    const canWait = catalog.tools.get(entry.tool.name) === entry && isEmpty(credentials);
    const called = registry.entryOf(entry, input);
    const link = linkOf(canWait ? call.pages : undefined, entry);
    const { ref } = called;
    const about = () => aboutOf(called);
    const person = personWay(
      { ...context, ref, ...link },
      { tasks, tool: entry, hears: false, about },
    );
    const asking = {
      ...context,
      ...link,
      signal,
      credentials,
      notify: () => {},
      sending() {
        sender.hasSent = true;
      },
      ask: person ? person.asker(ask) : ask,
      ...(person?.gate && { gate: person.gate }),
    };
    const handed = async (wait: Waiting): Promise<CallToolResponse | undefined> => {
      const given = await person?.take(wait);
      return given && { ...ended(), success: false, error: waiting(given) };
    };
    return await perform<CallToolResponse>(called, asking, {
      ended(result) {
        const given = result as CallToolResult;
        if (given.isError === true) return failed({ message: textOf(given) || "The tool failed." });
        const value = definition.output_schema === null ? {} : { value: valueOf(given) };
        return { ...ended(), success: true, ...value };
      },
      waits: {
        ...allReasons(async (wait) => (await handed(wait)) ?? failed({ message: UNENDING })),
        async input(wait) {
          const over = await handed(wait);
          if (over !== undefined) return over;
          const { asks } = wait.reason;
          unanswered.add(asks);
          const [first] = Object.values(asks);
          return failed(first ? cannotAsk(first, WHY) : { message: UNENDING });
        },
      },
    });
  } catch (error) {
    return failed(thrown(report(afterSending(sender, error), hide)));
  }
}

/** Runs a tool whose result is lost if its client gives up, and stops it before that. */
export async function runUnrecorded(
  parts: CallParts,
  call: Call,
  signal: () => AbortSignal,
): Promise<CallToolResponse> {
  const began = Date.now();
  const silence = new AbortController();
  const stop = () => silence.abort(tooSilent("it has no call_id", OTHER_WAYS));
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await runTool(parts, call, () => {
      timer ??= setTimeout(stop, Math.max(0, began + limits.silentEndMs - Date.now()));
      return AbortSignal.any([signal(), silence.signal]);
    });
  } finally {
    clearTimeout(timer);
  }
}

const OTHER_WAYS =
  "Send a call_id, and the same request again until it is answered; or call the tool by MCP.";

const UNENDING =
  "The tool did not finish: it waits for something that Open Tool Calling cannot provide.";
const WHY =
  "Open Tool Calling has no requests to clients. Call again with the answer in the tool's input, if its schema has a place for it.";

const isEmpty = ({ secrets, tokens, userId }: CallCredentials): boolean =>
  secrets.size === 0 && tokens.size === 0 && userId === undefined;

/** The link as an error for the model: the specification has no result for a call that continues. */
function waiting(link: Json): ToolError {
  const { url, id, message, status } = waitingIn(link);
  if (status === "working")
    return {
      message: "This call is still running.",
      can_retry: true,
      additional_prompt_content: `Do not call the tool again. Call ${GET_RESULT} with id ${String(id)} in a moment.`,
    };
  return {
    message: "This call waits for an answer from a person.",
    can_retry: true,
    additional_prompt_content: `Do not call the tool again. Ask the user to open ${String(url)}, then call ${GET_RESULT} with id ${String(id)}. The question: ${String(message)}`,
  };
}

/** The id of the tool that returns the call's own result. */
const GET_RESULT = "server.get_result";

/** Fails all asks. Ends the call unless the servlet handles failures. */
const unasked = (asks: Asks): Answers => mapValues(asks, (one) => cannotAsk(one, WHY, {}));

const textOf = ({ content }: CallToolResult): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");

/** The value of a result: structured content, else its only text, else all content. */
function valueOf({ structuredContent, content }: CallToolResult): unknown {
  if (structuredContent !== undefined) return structuredContent;
  const [first, ...others] = content;
  return first?.type === "text" && others.length === 0 ? first.text : content;
}

/**
 * The asks of a tool, which cannot be answered: an error lists them for the model. Only as many as a model
 * would read are stored, since a tool may ask again and again.
 */
class UnansweredAsks {
  readonly #lines: string[] = [];
  #characters = 0;

  add(asks: Asks): void {
    for (const one of Object.values(asks)) {
      if (this.#characters > limits.errorCharacters) return;
      const line = described(one);
      this.#lines.push(line);
      this.#characters += line.length;
    }
  }

  /** The requests as additional content for a model that calls again; empty if the tool has asked nothing. */
  get hint(): Partial<ToolError> {
    if (this.#lines.length === 0) return {};
    const content = ["The tool asked for this:", ...this.#lines].join("\n");
    return { can_retry: true, additional_prompt_content: content };
  }
}

function described({ method, params }: Ask): string {
  switch (method) {
    case "elicitation/create": {
      const { message, url, requestedSchema: form } = params;
      const page = typeof url === "string" ? ` (${url})` : "";
      return [`- Of the user: ${plain(message)}${page}`, ...fields(form)].join("\n");
    }
    case "sampling/createMessage":
      return `- Of a model: ${JSON.stringify(params["messages"])}`;
    case "roots/list":
      return "- Of the client: which folders and files it may work on";
  }
}

/** Text or JSON: `String` would call a `toString` member of JSON, which may not be a function. */
const plain = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

/** The fields of a form, with their types and descriptions. */
function fields(form: unknown): string[] {
  if (!isObject(form) || !isObject(form["properties"])) return [];
  const { required } = form;
  return Object.entries(form["properties"]).map(([name, field]) => {
    const { type, title, description, enum: choices } = isObject(field) ? field : {};
    const kind = Array.isArray(choices) ? `one of ${choices.map(plain).join(", ")}` : plain(type);
    const must = Array.isArray(required) && required.includes(name) ? ", required" : "";
    const about = [title, description].filter((one) => typeof one === "string").join(": ");
    return `  - ${name} (${kind}${must})${about && `: ${about}`}`;
  });
}

/** A fault as the tool's error; the message of `missing_capability` is complete without its data. */
const thrown = ({ code, message, data }: Fault): ToolError => ({
  message,
  ...(data !== undefined &&
    code !== "missing_capability" && { developer_message: JSON.stringify(data) }),
});

function hidden({ can_retry, ...texts }: ToolError, hide: Redact): ToolError {
  const struck = mapValues(texts, (text) => hide(text));
  return { message: "", ...struck, ...(can_retry && { can_retry }) };
}
