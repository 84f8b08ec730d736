/** Converts schemas of libraries without a conversion of their own to JSON Schema, while the bundle step learns lists. */
import { toJsonSchema } from "@valibot/to-json-schema";
import { zodToJsonSchema } from "zod-to-json-schema";
import { CHECKED_BY_SERVLET, isObject } from "../../server/kernel/core/model.ts";
import type { JsonSchema, StandardSchema } from "../infer.ts";

type Override = (written: { zodSchema: unknown; jsonSchema: object }) => void;
type Modern = (schema: StandardSchema, options: object) => JsonSchema;

/** True for schemas of zod 3 that change a value before they check it. */
const changes = (definition: object): boolean => {
  const { typeName, coerce, effect } = definition as Record<string, unknown>;
  return (
    coerce === true ||
    typeName === "ZodCatch" ||
    (typeName === "ZodEffects" && isObject(effect) && effect["type"] === "preprocess")
  );
};

/** Converts schemas of zod 4 by its `toJSONSchema`, if the servlet has it; schemas of valibot and zod 3 by packages. */
export const convertWith =
  (toJSONSchema?: Modern) =>
  (schema: StandardSchema, io: "input" | "output", override: Override): JsonSchema => {
    if ("_zod" in schema && toJSONSchema) {
      return toJSONSchema(schema, { io, target: "draft-2020-12", override });
    }
    if (schema["~standard"].vendor === "valibot")
      return toJsonSchema(schema as never) as JsonSchema;
    const old = (schema as { old?: unknown }).old;
    if (old === undefined) return undefined as never;
    return zodToJsonSchema(old as never, {
      strictUnions: true,
      pipeStrategy: io,
      postProcess: (written, definition) =>
        written && changes(definition) ? { ...written, [CHECKED_BY_SERVLET]: true } : written,
    }) as JsonSchema;
  };
