/** Tools whose schemas are JSON Schemas. */
import { defineServlet } from "edge-servlets/servlet";

export default defineServlet({
  tools: {
    described: {
      title: "Described",
      description: "Has all that a tool may have",
      annotations: { readOnlyHint: true, idempotentHint: true },
      icons: [{ src: "https://example.com/icon.png", sizes: ["48x48"] }],
      _meta: { "example.com/a": 1 },
      handler: () => null,
    },
    take: {
      input: {
        type: "object",
        properties: {
          name: { type: "string", minLength: 1 },
          size: { enum: ["s", "m"] },
          counts: { type: "array", items: { type: "integer" } },
          at: {
            type: "object",
            properties: { x: { type: "number" }, y: { type: ["number", "null"] } },
            required: ["x"],
          },
        },
        required: ["name"],
      },
      handler({ name, size, counts, at }) {
        const exact: [string, "s" | "m" | undefined, number | undefined, number | undefined] = [
          name,
          size,
          counts?.[0],
          at?.x,
        ];
        // @ts-expect-error: a type that may be several is not read.
        const wrong: number | null | undefined = at?.y;
        return JSON.stringify([...exact, wrong]);
      },
    },
    give: {
      output: { type: "object", properties: { x: { type: "number" } }, required: ["x"] },
      handler: () => ({ x: 3 }),
    },
    give_bad: {
      output: { type: "object", properties: { x: { type: "number" } }, required: ["x"] },
      // @ts-expect-error: x is a number.
      handler: () => ({ x: "no" }),
    },
    anything: { handler: (args) => ({ given: args }) },
  },
});

/** For the compiler alone: a servlet whose only tool has nothing but a handler with parameters. */
export const alone = () =>
  defineServlet({ tools: { echo: { handler: (args) => Object.keys(args) } } });
