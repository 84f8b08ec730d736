// Input and output of hyper-v2 servlets: calls, results, logs and progress.
import { block, input, output } from "./extism";
import { notify_logging_message, notify_progress } from "./host";
import { Json, quote } from "./json";

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

/** A content block of text. */
export function text(said: string): string {
  return `{"type":"text","text":${quote(said)}}`;
}

/** Answers a tool call with content blocks. */
export function result(blocks: string): i32 {
  return output(`{"content":[${blocks}]}`);
}
