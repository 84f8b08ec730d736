/** Validates and generates the content of a form. Loaded when a form is sent or filled in with an example. */
import type { Json } from "../server/kernel/core/model.ts";
import { Schema, SchemaError, StepsExceeded } from "../server/kernel/schema/schema.ts";
import type { Wrong } from "./form.ts";

export { exampleOf } from "../server/kernel/schema/example.ts";

/** Validation errors of the content, by the same code that the server uses. */
export function wrongIn(schema: Json, content: Json): Wrong[] {
  try {
    return [...(new Schema(schema).issues(content) ?? [])];
  } catch (error) {
    // The server reports an invalid schema.
    if (error instanceof SchemaError || error instanceof StepsExceeded) return [];
    throw error;
  }
}
