/** `zod/mini` for servlets, with the JSON Schema converter that it lacks. */
import { toJSONSchema } from "zod/v4/core";
import { convertWith } from "./schema.ts";

export * from "zod/v4/mini";

convertWith((schema, io, override) =>
  toJSONSchema(schema as unknown as Parameters<typeof toJSONSchema>[0], {
    io,
    target: "draft-2020-12",
    override,
  }),
);
