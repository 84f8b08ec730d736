/** The tools of ../schemas-zod, with zod/mini. */
import { defineServlet } from "edge-servlets/servlet";
import * as z from "zod/mini";

const even = z.refine<number>((n) => n % 2 === 0, "is odd");
const kind = z.refine<string>(async (s) => {
  await null;
  return s !== "bad";
}, "is bad");

export default defineServlet({
  tools: {
    parse: {
      input: z.object({
        name: z.string().check(z.describe("Whose"), z.minLength(1)),
        size: z._default(z.enum(["s", "m"]), "m"),
        length: z.optional(
          z.pipe(
            z.string(),
            z.transform((s: string) => s.length),
          ),
        ),
        deep: z.optional(z.object({ counts: z.array(z.int()) })),
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
      input: z.object({ list: z.array(z.object({ n: z.number().check(even) })) }),
      handler: () => "even",
    },
    refine_async: {
      input: z.object({ kind: z.string().check(kind) }),
      handler: (args) => args.kind,
    },
    give: {
      output: z.object({ x: z.number(), unit: z._default(z.string(), "m") }),
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
      output: z.object({ x: z._default(z.number(), 3) }),
      handler: () => ({ content: [{ type: "text" as const, text: "own" }], structuredContent: {} }),
    },
    change: {
      input: z.object({
        count: z.coerce.number(),
        list: z.pipe(
          z.transform((value: unknown) => (typeof value === "string" ? JSON.parse(value) : value)),
          z.array(z.int()),
        ),
        size: z.catch(z.number(), 5),
        word: z.pipe(
          z.transform((value) => value ?? "none"),
          z.string(),
        ),
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
