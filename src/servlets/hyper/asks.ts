import { limits } from "../../core/limits.ts";
import { isAskMethod, type Ask, type Asks } from "../../core/asks.ts";
import { isObject, type Json } from "../../core/model.ts";
import { GuestError, type Guest } from "../../wasm/guest.ts";
import type { HostFunction } from "../../wasm/host-function.ts";
import { content } from "../tidy/content.ts";
import { plainAnswer } from "./plain-answers.ts";
import { askAll } from "./secret.ts";

/** `askAll` for guests that expect a result for each ask. Throws `missing_capability` (see `plainAnswer`). */
export async function plainAnswers(guest: Guest, asks: Asks): Promise<Record<string, Json>> {
  const answers = Object.entries(await askAll(guest, asks));
  return Object.fromEntries(answers.map(([key, answer]) => [key, plainAnswer(answer)]));
}

/** The key of an ask to which the guest gave none: `ask_1`, `ask_2`, … */
export const nextKey = ({ journal }: Guest): string => `ask_${journal.position + 1}`;

export async function askOne(guest: Guest, ask: Ask): Promise<Json> {
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
export const asksIn = (given: Json, who: string): Asks =>
  Object.fromEntries(Object.entries(given).map(([key, one]) => [key, askIn(one, who)]));

/** The host function `who`, which sends the client one request of this method. */
export const asks =
  (method: Ask["method"], who: string): HostFunction =>
  async (guest, params: bigint) => {
    const ask = askOf(method, guest.json(params, who));
    return guest.put(JSON.stringify(await askOne(guest, ask)));
  };

/** The request in its wire shape. An elicitation's `timeout` is in ms. */
export function askOf(method: Ask["method"], given: Json): Ask {
  if (method === "sampling/createMessage") return { method, params: withTidyMedia(given) };
  if (method !== "elicitation/create") return { method, params: given };
  const { timeout, ...rest } = given;
  const params = { mode: "form", ...(withDashes(rest) as Json) };
  if (typeof timeout !== "number" || !(timeout > 0)) return { method, params };
  // The guest may write 1e999, which is read as infinity, which JSON cannot express.
  return { method, params, timeoutMs: Math.ceil(Math.min(timeout, limits.taskMs)) };
}

/** The same request, with images and sounds as every client reads them. */
function withTidyMedia(params: Json): Json {
  if (!Array.isArray(params["messages"])) return params;
  const tidy = (block: unknown) =>
    isObject(block) && ["image", "audio"].includes(String(block["type"])) ? content(block) : block;
  const messages = params["messages"].map((message: unknown) => {
    if (!isObject(message)) return message;
    const given = message["content"];
    return { ...message, content: Array.isArray(given) ? given.map(tidy) : tidy(given) };
  });
  return { ...params, messages };
}

/** Servlets of hyper-mcp's interface write `"format": "date_time"`, at any depth. */
function withDashes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDashes);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      key === "format" && one === "date_time" ? "date-time" : withDashes(one),
    ]),
  );
}
