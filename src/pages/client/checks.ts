/** What is only needed once a form is sent or filled in: loaded then. */
import type { Json } from "../../core/model.ts";
import { Schema, SchemaError, StepsExceeded } from "../../schema/schema.ts";
import type { Wrong } from "./form.ts";

export { exampleOf } from "../../schema/example.ts";

/** What the schema finds wrong with a content. The server checks again, by the same code. */
export function wrongIn(schema: Json, content: Json): Wrong[] {
  try {
    return [...(new Schema(schema).issues(content) ?? [])];
  } catch (error) {
    // The server says what it makes of it.
    if (error instanceof SchemaError || error instanceof StepsExceeded) return [];
    throw error;
  }
}
