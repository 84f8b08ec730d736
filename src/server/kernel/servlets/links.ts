/** The pages on which users answer, in words for models and as data. */
import type { Asks } from "../core/asks.ts";
import { limits } from "../core/limits.ts";
import { isObject, type Json } from "../core/model.ts";
import { beginningOf, printableLine } from "../core/text.ts";

/** The URL of a call's page. */
export const callPageUrl = (origin: string, id: string): string => `${origin}/ask/${id}`;

/** A waiting call, in words for a model and as data: its asks, or that it is still running. */
export function waitingFor(asks: Asks, { url, id }: { url: string; id: string }) {
  const [first] = Object.values(asks);
  if (first === undefined) {
    const still = `The call is still running. Call get_result with id ${id} in a moment.`;
    return { text: still, data: { status: "working", id, url } };
  }
  const { params } = first;
  const asked = typeof params["message"] === "string" ? params["message"] : "";
  const message = printableLine(beginningOf(asked, limits.statusCharacters));
  const text = `This call needs an answer from a person. Ask the user to open ${url}, then call get_result with id ${id}.`;
  return {
    text: message === "" ? text : `${text} The question: ${message}`,
    data: { status: "waiting", id, url, message },
  };
}

/** The result that links to the page. Clients reject content that does not match the tool's `outputSchema`. */
export function linkResult(
  { origin, isTyped }: { origin: string; isTyped: boolean },
  id: string,
  asks: Asks,
): Json {
  const { text, data } = waitingFor(asks, { url: callPageUrl(origin, id), id });
  const content = [{ type: "text", text }];
  return isTyped
    ? { content, isError: true, _meta: { [WAITING_META]: data } }
    : { content, structuredContent: data };
}

/** The member of `_meta` that has what a call waits for. */
const WAITING_META = "edge-servlets/waiting";

/** The data of such a result, as made by `waitingFor`. */
export function waitingIn({ structuredContent, _meta }: Json): Json {
  const meta = isObject(_meta) ? _meta[WAITING_META] : undefined;
  if (isObject(structuredContent)) return structuredContent;
  return isObject(meta) ? meta : {};
}
