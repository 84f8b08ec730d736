import type { Asks } from "../asks.ts";
import { isObject } from "../model.ts";
import { FORMATS } from "./formats.ts";
import { Schema, SchemaError } from "./schema.ts";

/**
 * The problem of the first form whose `requestedSchema` cannot be used to check an answer; undefined if all
 * can. `spend` is called with the number of states of each schema's patterns, and throws if there are too many.
 */
export function wrongForm(asks: Asks, spend: (states: number) => void): string | undefined {
  for (const [key, { method, params }] of Object.entries(asks)) {
    const { mode, requestedSchema: schema } = params;
    if (method !== "elicitation/create" || mode === "url" || !isObject(schema)) continue;
    try {
      spend(new Schema(schema, FORMATS).patternStates);
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      return `the requestedSchema of ${key.slice(0, 80)} cannot be used: ${error.message}. Give it a valid JSON Schema`;
    }
  }
  return undefined;
}
