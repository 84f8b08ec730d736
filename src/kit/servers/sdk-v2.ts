/** The exports of `@modelcontextprotocol/server` and of its packages for frameworks. */
import { isObject } from "../../server/kernel/core/model.ts";
import type { StandardSchema } from "../infer.ts";
import { RpcError } from "../run.ts";
import type { Json } from "./registry.ts";

export * from "./sdk-v1.ts";
export { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from "./errors.ts";
export { createMcpHandler, serveStdio } from "./handlers.ts";
export { createMcpHonoApp, createMcpFastifyApp, toNodeHandler } from "./http.ts";

/** Returns the JSON Schema itself: the server checks it. */
export const fromJsonSchema = (schema: Json): Json => schema;

/** Makes the result of a call that needs input; its members make the requests. */
export const inputRequired = Object.assign(
  ({ inputRequests, requestState }: { inputRequests?: Json; requestState?: string }) => ({
    resultType: "input_required",
    ...(inputRequests && { inputRequests }),
    ...(requestState !== undefined && { requestState }),
  }),
  {
    elicit: (params: Json) => ({
      method: "elicitation/create",
      params: { mode: "form", ...params },
    }),
    elicitUrl: (params: Json) => ({
      method: "elicitation/create",
      params: { ...params, mode: "url" },
    }),
    createMessage: (params: Json) => ({ method: "sampling/createMessage", params }),
    listRoots: () => ({ method: "roots/list" }),
  },
);

export const isInputRequiredResult = (value: unknown): boolean =>
  isObject(value) && value["resultType"] === "input_required";

type InputResponse =
  | { kind: "missing" }
  | { kind: "elicit"; action: string; content?: Json }
  | { kind: "roots"; roots: unknown[] }
  | { kind: "sampling"; result: Json };

/** The client's answer to one request, by kind. */
export function inputResponse(responses: unknown, key: string): InputResponse {
  const answer = isObject(responses) ? responses[key] : undefined;
  if (!isObject(answer)) return { kind: "missing" };
  const { action, content, roots, role } = answer;
  if (typeof action === "string") {
    return { kind: "elicit", action, ...(isObject(content) && { content }) };
  }
  if (Array.isArray(roots)) return { kind: "roots", roots };
  return typeof role === "string" ? { kind: "sampling", result: answer } : { kind: "missing" };
}

/** The content of an accepted form; undefined if there is none, or if it does not match the schema. */
export function acceptedContent(responses: unknown, key: string, schema?: StandardSchema): unknown {
  const answer = inputResponse(responses, key);
  if (answer.kind !== "elicit" || answer.action !== "accept") return undefined;
  if (schema === undefined || answer.content === undefined) return answer.content;
  const result = schema["~standard"].validate(answer.content);
  if (result instanceof Promise) {
    throw new TypeError("acceptedContent() needs a schema that validates at once.");
  }
  return result.issues ? undefined : result.value;
}

interface CodecOptions {
  key: string | Uint8Array;
  ttlSeconds?: number;
  bind?: (context: unknown) => string;
}

const utf8 = new TextEncoder();

/** A codec for `requestState` that clients cannot change: signed by HMAC-SHA-256, with an expiry time. */
export function createRequestStateCodec({ key, ttlSeconds = 3600, bind }: CodecOptions) {
  const bytes = typeof key === "string" ? utf8.encode(key) : key;
  const sign = async (text: string): Promise<string> => {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const imported = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
    const signature = await crypto.subtle.sign("HMAC", imported, utf8.encode(text));
    return new Uint8Array(signature).toBase64({ alphabet: "base64url", omitPadding: true });
  };
  return {
    async mint(payload: unknown, context?: unknown): Promise<string> {
      const ends = Math.floor(Date.now() / 1000) + ttlSeconds;
      const body = JSON.stringify({ payload, ends, bound: bind?.(context) });
      return `${await sign(body)}.${body}`;
    },
    async verify(state: string, context?: unknown): Promise<unknown> {
      const at = state.indexOf(".");
      const body = state.slice(at + 1);
      if ((await sign(body)) !== state.slice(0, at)) throw new Error("mac");
      const { payload, ends, bound } = JSON.parse(body) as Json & { ends: number };
      if (ends < Date.now() / 1000) throw new Error("expired");
      if (bound !== bind?.(context)) throw new Error("bind");
      return payload;
    },
  };
}

/** Without effect: the server checks scopes before it calls a servlet. */
export const requireScopes = (): (() => undefined) => () => undefined;

export class MissingRequiredClientCapabilityError extends RpcError {
  constructor(requiredCapabilities: Json, message = "Missing required client capability") {
    super(-32021, message, { requiredCapabilities });
  }
}
