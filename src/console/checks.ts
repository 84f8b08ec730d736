/** Checks and examples of content, loaded when a form is sent or filled in. */
import type { Json } from "../server/kernel/core/model.ts";
import { Schema, SchemaError, StepsExceeded } from "../server/kernel/schema/schema.ts";
import type { Wrong } from "./form.ts";

export { exampleOf } from "../server/kernel/schema/example.ts";

/** The schema's complaints about content. The server checks again, by the same code. */
export function wrongIn(schema: Json, content: Json): Wrong[] {
  try {
    return [...(new Schema(schema).issues(content) ?? [])];
  } catch (error) {
    // The server reports what is wrong with the schema.
    if (error instanceof SchemaError || error instanceof StepsExceeded) return [];
    throw error;
  }
}
