/** What servlets get for `zod/mini`: its schemas do not know their JSON Schema, so this brings what does. */
import { toJSONSchema } from "zod/v4/core";
import { convertWith } from "./schema.ts";

export * from "zod/v4/mini";

convertWith((schema, io) =>
  toJSONSchema(schema as unknown as Parameters<typeof toJSONSchema>[0], {
    io,
    target: "draft-2020-12",
  }),
);
