// What the servlets of the hyper-v2 dialect say and ask: results, errors, and the host functions.
import { block, input, output, read } from "./extism";
import {
  create_elicitation,
  create_message,
  notify_logging_message,
  notify_progress,
} from "./host";
import { Json, decimal, quote } from "./json";

/** JSON-RPC: the request names something that is not there, or is wrong in itself. */
export const INVALID_PARAMS = -32602;

/** The input of `call_tool`, `get_prompt`, `read_resource` or `complete`. */
export class Call {
  readonly request: Json;
  private readonly context: Json;

  constructor() {
    const call = Json.parse(input());
    this.request = call.get("request");
    this.context = call.get("context");
  }

  get name(): string {
    return this.request.get("name").string();
  }

  argument(name: string): Json {
    return this.request.get("arguments").get(name);
  }

  /** Tells the client how far the call has come, if it wants to know. Numbers are JSON text. */
  progress(done: string, total: string, message: string = ""): void {
    const token = this.context.get("_meta").get("progressToken");
    if (!token.exists) return;
    const said = message == "" ? "" : `,"message":${quote(message)}`;
    notify_progress(
      block(`{"progressToken":${token.raw},"progress":${done},"total":${total}${said}}`),
    );
  }
}

/** Sends a log message to the client. */
export function log(level: string, logger: string, message: string): void {
  notify_logging_message(
    block(`{"level":${quote(level)},"logger":${quote(logger)},"data":${quote(message)}}`),
  );
}

/** Asks the user to fill in a form; `{action, content?}`. */
export function elicit(message: string, requestedSchema: string): Json {
  const params = `{"mode":"form","message":${quote(message)},"requestedSchema":${requestedSchema}}`;
  return Json.parse(read(create_elicitation(block(params))));
}

/** Has the client's model answer `prompt`; `{role, content, model, stopReason?}`. */
export function sample(prompt: string, maxTokens: i32): Json {
  const messages = `[{"role":"user","content":${text(prompt)}}]`;
  const params = `{"messages":${messages},"maxTokens":${decimal(maxTokens)}}`;
  return Json.parse(read(create_message(block(params))));
}

/** A content block of text. */
export function text(said: string): string {
  return `{"type":"text","text":${quote(said)}}`;
}

/** Answers a tool call with content blocks. */
export function result(blocks: string): i32 {
  return output(`{"content":[${blocks}]}`);
}

/** Answers a tool call with an object (JSON text), for programs and, as text, for models. */
export function structured(object: string): i32 {
  return output(`{"content":[${text(object)}],"structuredContent":${object}}`);
}

/** Answers a tool call with an error that the model can read and act on. */
export function toolError(message: string): i32 {
  return output(`{"content":[${text(message)}],"isError":true}`);
}

/** Answers any call with a JSON-RPC error. `data` is JSON text. */
export function rpcError(message: string, data: string = ""): i32 {
  const details = data == "" ? "" : `,"data":${data}`;
  return output(
    `{"error":{"code":${decimal(INVALID_PARAMS)},"message":${quote(message)}${details}}}`,
  );
}
