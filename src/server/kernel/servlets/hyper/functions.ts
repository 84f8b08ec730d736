/** The host functions of servlets for hyper-mcp: `extism:host/user`. */
import { textIn } from "../../core/text.ts";
import { limits } from "../../core/limits.ts";
import { type Json, isObject } from "../../core/model.ts";
import { config } from "../../wasm/extism.ts";
import { fileCall } from "../../wasm/file-calls.ts";
import { accountIn, connectAccount } from "../../wasm/account.ts";
import { GuestError, type Guest } from "../../wasm/guest.ts";
import type { HostFunction, HostFunctions } from "../../wasm/host-function.ts";
import { httpRequest, recordedRequest } from "../../wasm/http-request.ts";
import { callFeature } from "../../wasm/host-calls.ts";
import { callTools } from "../../wasm/tool-calls.ts";
import { cryptoCall, decodeText } from "../../wasm/web-calls.ts";
import { askAll, keptSecret } from "./secret.ts";
import { accessToken } from "./token.ts";
import { isAskMethod, type Ask, type Asks } from "../../core/asks.ts";
import { mapValues } from "../../core/values.ts";
import { content } from "../tidy/content.ts";
import { plainAnswer } from "./plain-answers.ts";

/** `askAll` for guests that expect a result for each ask. Throws `missing_capability` (see `plainAnswer`). */
async function plainAnswers(guest: Guest, asks: Asks): Promise<Record<string, Json>> {
  return mapValues(await askAll(guest, asks), plainAnswer);
}

/** The key of an ask without one of the guest's own: `ask_1`, `ask_2`, … */
const nextKey = ({ journal }: Guest): string => `ask_${journal.position + 1}`;

async function askOne(guest: Guest, ask: Ask): Promise<Json> {
  const key = nextKey(guest);
  return (await plainAnswers(guest, { [key]: ask }))[key] ?? {};
}

/** Reads a request: `{method, params}`. */
function askIn(given: unknown, who: string): Ask {
  const { method, params } = isObject(given) ? given : {};
  if (isAskMethod(method)) return askOf(method, isObject(params) ? params : {});
  const known = "elicitation/create, sampling/createMessage or roots/list";
  throw new GuestError(`${who}: a request's method must be ${known}.`);
}

/** Reads several requests under the guest's own keys. */
const asksIn = (given: Json, who: string): Asks => mapValues(given, (one) => askIn(one, who));

/** The host function `who`, which sends the client one request of this method. */
const asks =
  (method: Ask["method"], who: string): HostFunction =>
  async (guest, params: bigint) => {
    const ask = askOf(method, guest.json(params, who));
    return guest.put(JSON.stringify(await askOne(guest, ask)));
  };

/** The request in its wire shape. An elicitation's `timeout` is in ms. */
function askOf(method: Ask["method"], given: Json): Ask {
  if (method === "sampling/createMessage") return { method, params: withTidyMedia(given) };
  if (method !== "elicitation/create") return { method, params: given };
  const { timeout, ...rest } = given;
  const params = { mode: "form", ...(withDashes(rest) as Json) };
  if (typeof timeout !== "number" || !(timeout > 0)) return { method, params };
  // The guest may write 1e999, which is parsed as infinity, which JSON cannot express.
  return { method, params, timeoutMs: Math.ceil(Math.min(timeout, limits.taskMs)) };
}

/** A sampling request, with images and sounds in the form that every client reads. */
function withTidyMedia(params: Json): Json {
  if (!Array.isArray(params["messages"])) return params;
  const tidy = (block: unknown) =>
    isObject(block) && ["image", "audio"].includes(textIn(block["type"])) ? content(block) : block;
  const messages = params["messages"].map((message: unknown) => {
    if (!isObject(message)) return message;
    const given = message["content"];
    return { ...message, content: Array.isArray(given) ? given.map(tidy) : tidy(given) };
  });
  return { ...params, messages };
}

/** Replaces `"format": "date_time"`, which hyper-mcp's interface uses, at any depth. */
function withDashes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDashes);
  if (!isObject(value)) return value;
  return mapValues(value, (one, key) =>
    key === "format" && one === "date_time" ? "date-time" : withDashes(one),
  );
}

const notifies =
  (method: string, who: string): HostFunction =>
  (guest, params: bigint) => {
    const notification = { method, params: guest.json(params, who) };
    guest.notify(notification, guest.bytes(params).length + limits.entryBytes);
  };

const changes =
  (method: string): HostFunction =>
  (guest) =>
    guest.notify({ method }, 0);

/** The caller's token for the `id` or `client_id` in the guest's request. */
function callersToken({ setup }: Guest, { id, client_id, scopes = null }: Json): Json | undefined {
  const name = id ?? client_id;
  const token = typeof name === "string" ? setup.credentials?.token(name) : undefined;
  return token === undefined ? undefined : { access_token: token, expires_at: null, scopes };
}

/** Functions of `extism:host/user`, hyper-mcp's and this server's own: each takes and returns a block of JSON. */
export const userFunctions: HostFunctions = {
  create_elicitation: asks("elicitation/create", "create_elicitation"),
  create_message: asks("sampling/createMessage", "create_message"),
  list_roots: async (guest) =>
    guest.put(JSON.stringify(await askOne(guest, { method: "roots/list", params: {} }))),
  /** Several asks at once, under the guest's own keys: `{key: {method, params}}` → `{key: result}`. */
  request_input: async (guest, block: bigint) => {
    const asked = asksIn(guest.json(block, "request_input"), "request_input");
    return guest.put(JSON.stringify(await plainAnswers(guest, asked)));
  },
  /**
   * For guests that distinguish failures from results. One request: `{method, params}` → `{result}`, or
   * `{failed, method, message, requiredCapabilities?}` (see `AskFailure`). Or several: `{key: request}` →
   * `{key: answer}`; if one cannot be asked, others may have no answer.
   */
  ask_client: async (guest, block: bigint) => {
    const given = guest.json(block, "ask_client");
    const isOne = typeof given["method"] === "string";
    const key = nextKey(guest);
    const asked = asksIn(isOne ? { [key]: given } : given, "ask_client");
    const answers = await askAll(guest, asked);
    return guest.put(JSON.stringify(isOne ? answers[key] : answers));
  },
  /**
   * Calls a tool of another servlet: `{name, arguments}` → `{result}`, or `{failed, message}` (see `ToolCallReason`).
   * Or several together: `{key: call}` → `{key: answer}`.
   */
  call_tool: async (guest, block: bigint) => callTools(guest, block),
  /** Calls a host function of a feature: `{name, payload}` → `{result}`, or `{failed}`, the reason. */
  call_host: async (guest, block: bigint) => callFeature(guest, block),
  notify_logging_message: notifies("notifications/message", "notify_logging_message"),
  notify_progress: notifies("notifications/progress", "notify_progress"),
  notify_resource_updated: notifies("notifications/resources/updated", "notify_resource_updated"),
  notify_url_elicitation_completed: notifies(
    "notifications/elicitation/complete",
    "notify_url_elicitation_completed",
  ),
  notify_tool_list_changed: changes("notifications/tools/list_changed"),
  notify_prompt_list_changed: changes("notifications/prompts/list_changed"),
  notify_resource_list_changed: changes("notifications/resources/list_changed"),
  discard_changes: (guest) => {
    guest.leaves = "nothing";
  },
  reset_state: (guest) => {
    guest.leaves = "new state";
  },
  /**
   * Extism's `http_request` for guests that handle its failure: the status is then 0, and the headers are `{"error":
   * why}`.
   */
  http_fetch: async (guest, head: bigint, body: bigint) => {
    try {
      return await httpRequest(guest, "http_fetch", head, body);
    } catch (error) {
      if (!(error instanceof GuestError)) throw error;
      guest.http = { status: 0, headers: JSON.stringify({ error: error.message }) };
      return 0n;
    }
  },
  /** Performs a file operation in the servlet's folders: see `fileCall`. */
  file_call: fileCall,
  /** Hashes, signs or encrypts bytes: see `cryptoCall`. */
  crypto_call: cryptoCall,
  /** Decodes bytes in one of the encodings of the web: see `decodeText`. */
  decode_text: decodeText,
  /**
   * Returns `null` if no token was granted. For `{account}`, connects the caller's account of that name, and returns a
   * placeholder that the host replaces by the token in `Authorization` headers.
   */
  get_access_token: async (guest, block: bigint) => {
    const asked = guest.json(block, "get_access_token");
    if (typeof asked["account"] === "string") {
      const account = accountIn(`account ${asked["account"]}`);
      if (account === undefined)
        throw new GuestError("get_access_token: account must be the name of an account.");
      await connectAccount(guest, account);
      const token = { access_token: `account ${account}`, expires_at: null, scopes: null };
      return guest.put(JSON.stringify(token));
    }
    const provided = callersToken(guest, asked);
    if (provided !== undefined) return guest.put(JSON.stringify(provided));
    const token = await accessToken(asked, {
      request: async (head, body) => {
        const response = await recordedRequest(guest, head, body);
        const granted = response.body.slice(0, limits.issuerBytes + 1);
        response.releaseBody();
        return { status: response.status, body: granted };
      },
      elicit: (params) => askOne(guest, askOf("elicitation/create", params)),
      sleep: (ms) => guest.sleep(ms),
      now: () => guest.journal.now,
    });
    return guest.put(JSON.stringify(token));
  },
  /** Without a user, also a secret that the caller has entered under this name. */
  get_keyring_secret: async (guest, key: bigint) => {
    const { service, user = "" } = guest.json(key, "get_keyring_secret");
    if (typeof service !== "string" || typeof user !== "string") return 0n;
    const secret = guest.setup.credentials?.secret(service, user);
    if (secret !== undefined) return guest.put(secret);
    const question = { what: `secret ${service}`, details: JSON.stringify([service, user]) };
    const own = guest.answerNow(question, () => guest.setup.secret(service, user) ?? "");
    if (own !== "" || user !== "" || service === "") return guest.put(own);
    return guest.put((await keptSecret(guest, service)) ?? "");
  },
  /** Config as JSON, for servlets written before December 2024. */
  config_get: (guest, key: bigint) => {
    const value = config(guest, key);
    return value === undefined ? 0n : guest.put(JSON.stringify(value));
  },
};
