import type { Asks } from "../asks.ts";
import { limits } from "../limits.ts";
import { isObject } from "../model.ts";
import { FORMATS } from "./formats.ts";
import { Schema, SchemaError } from "./schema.ts";

/**
 * The problem of the first form whose `requestedSchema` cannot be used to check an answer, or of the first page that
 * cannot be opened; undefined if there is none. `spend` is called with the number of states of each schema's patterns, and throws if there are too many.
 */
export function wrongForm(asks: Asks, spend: (states: number) => void): string | undefined {
  for (const [key, { method, params }] of Object.entries(asks)) {
    const { mode, requestedSchema: schema } = params;
    if (method !== "elicitation/create") continue;
    if (mode === "url" && !isPage(params["url"])) {
      return `the url of ${key.slice(0, 80)} is not that of a page: give an https or http URL without a user name or password, of at most ${limits.urlCharacters} characters`;
    }
    if (mode === "url" || !isObject(schema)) continue;
    try {
      spend(new Schema(schema, FORMATS).patternStates);
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      return `the requestedSchema of ${key.slice(0, 80)} cannot be used: ${error.message}. Give it a valid JSON Schema`;
    }
  }
  return undefined;
}

/** True for the address of a web page. */
function isPage(url: unknown): boolean {
  if (typeof url !== "string" || url.length > limits.urlCharacters || !URL.canParse(url)) {
    return false;
  }
  const { protocol, username, password } = new URL(url);
  return /^https?:$/.test(protocol) && username === "" && password === "";
}
