/** A client of one endpoint, which counts what passes through its model. */
import { modern } from "../kinds.ts";

type Json = Record<string, any>;

export interface ToolCallResult {
  content: Json[];
  structuredContent?: unknown;
  isError?: boolean;
}

export class Client {
  /** Calls of tools that the model has made. */
  calls = 0;
  /** Answers of the model before it knew the result of the calls in it: calls that are made together are in one. */
  turns = 0;
  /** What the model has written to call tools, and read of their results. */
  bytes = 0;
  readonly #url: string;
  #open = 0;

  constructor(port: number, path = "/mcp") {
    this.#url = `http://127.0.0.1:${port}${path}`;
  }

  /** Sends a request of the protocol. Its user accepts what they are asked. */
  async send(method: string, params: Json): Promise<Json> {
    const { headers, body } = modern(method, params, params["name"], { elicitation: {} });
    const response = await fetch(this.#url, {
      method: "POST",
      headers: { ...headers, ...JSON_OR_STREAM },
      body,
    });
    const text = await response.text();
    // The answer is the last event of a stream.
    const message = text.slice(text.lastIndexOf("data: ") < 0 ? 0 : text.lastIndexOf("data: ") + 6);
    const { result, error } = JSON.parse(message) as Json;
    if (error !== undefined) throw new Error(JSON.stringify(error));
    if (result.resultType !== "input_required") return result;
    const keys = Object.keys(result.inputRequests);
    const accepted = { action: "accept", content: {} };
    const inputResponses = Object.fromEntries(keys.map((key) => [key, accepted]));
    return this.send(method, { ...params, inputResponses, requestState: result.requestState });
  }

  /** The tools that are listed, on all pages. */
  async list(): Promise<Json[]> {
    const all: Json[] = [];
    let cursor: string | undefined;
    do {
      const { tools, nextCursor } = await this.send("tools/list", { ...(cursor && { cursor }) });
      all.push(...tools);
      cursor = nextCursor;
    } while (cursor !== undefined);
    return all;
  }

  /** Calls a tool as a model does. */
  async call(name: string, args: object = {}): Promise<ToolCallResult> {
    if (this.#open++ === 0) this.turns++;
    this.calls++;
    const result = (await this.send("tools/call", { name, arguments: args })) as ToolCallResult;
    this.#open--;
    this.bytes += bytesOf({ name, arguments: args }) + bytesOf(result.content);
    return result;
  }

  /** The tools as scripts have them: each call is one of the model. */
  get tools(): Record<string, (args?: object) => Promise<unknown>> {
    return new Proxy(
      {},
      {
        get: (_, name) => async (args?: object) => {
          const { isError, structuredContent, content } = await this.call(String(name), args);
          if (isError === true) throw new Error(content[0]!["text"]);
          return structuredContent ?? (content.length === 1 ? content[0]!["text"] : content);
        },
      },
    );
  }
}

const JSON_OR_STREAM = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
