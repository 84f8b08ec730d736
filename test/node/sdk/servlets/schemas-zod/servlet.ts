/** The tools of ../schemas-mini, with the whole of zod. */
import { defineServlet } from "edge-servlets/servlet";
import * as z from "zod";

export default defineServlet({
  tools: {
    parse: {
      input: z.object({
        name: z.string().min(1).describe("Whose"),
        size: z.enum(["s", "m"]).default("m"),
        length: z
          .string()
          .transform((s) => s.length)
          .optional(),
        deep: z.object({ counts: z.array(z.int()) }).optional(),
      }),
      handler({ name, size, length, deep }) {
        const exact: [string, "s" | "m", number | undefined, number[] | undefined] = [
          name,
          size,
          length,
          deep?.counts,
        ];
        // @ts-expect-error: what was transformed is a number.
        const wrong: string | undefined = length;
        return JSON.stringify([...exact, typeof wrong]);
      },
    },
    refine: {
      input: z.object({
        list: z.array(z.object({ n: z.number().refine((n) => n % 2 === 0, "is odd") })),
      }),
      handler: () => "even",
    },
    refine_async: {
      input: z.object({
        kind: z.string().refine(async (s) => {
          await null;
          return s !== "bad";
        }, "is bad"),
      }),
      handler: (args) => args.kind,
    },
    give: {
      output: z.object({ x: z.number(), unit: z.string().default("m") }),
      async handler() {
        const given = { x: 1, extra: 2 };
        return given;
      },
    },
    give_bad: {
      output: z.object({ x: z.number() }),
      // @ts-expect-error: x is a number.
      handler: () => ({ x: "no" }),
    },
    give_both: {
      output: z.object({ x: z.number().default(3) }),
      handler: () => ({ content: [{ type: "text" as const, text: "own" }], structuredContent: {} }),
    },
    change: {
      input: z.object({
        count: z.coerce.number(),
        list: z.preprocess(
          (value: unknown) => (typeof value === "string" ? JSON.parse(value) : value),
          z.array(z.int()),
        ),
        size: z.number().catch(5),
        word: z.preprocess((value) => value ?? "none", z.string()),
        deep: z.optional(z.object({ isOn: z.coerce.boolean() })),
      }),
      handler: (args) => JSON.stringify(args),
    },
    choose: {
      input: z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("circle"), radius: z.number() }),
        z.object({ kind: z.enum(["square", "cube"]), side: z.number() }),
      ]),
      handler: (args) => (args.kind === "circle" ? `r${args.radius}` : `${args.kind}${args.side}`),
    },
    inherit: {
      input: z.object({
        constructor: z.optional(z.string()),
        deep: z.object({ toString: z.optional(z.int()), valueOf: z.optional(z.int()) }),
      }),
      handler: ({ deep, ...more }) => JSON.stringify({ ...more, deep }),
    },
    give_error: {
      output: z.object({ x: z.number() }),
      handler: () => ({ content: [{ type: "text" as const, text: "no" }], isError: true }),
    },
  },
});
