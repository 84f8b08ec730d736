/** Converts units: a server written for the official SDK, as it would run under Node by `node server.ts`. */
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

/** Factor of each unit to the first unit of its kind, by kind. */
const FACTORS: Record<string, Record<string, number>> = {
  length: { m: 1, km: 1000, cm: 0.01, mi: 1609.344, ft: 0.3048, in: 0.0254 },
  mass: { kg: 1, g: 0.001, t: 1000, lb: 0.45359237, oz: 0.028349523125 },
  volume: { l: 1, ml: 0.001, "gal (US)": 3.785411784, "gal (imperial)": 4.54609 },
};

const server = new McpServer(
  { name: "units", version: "1.0.0" },
  {
    instructions:
      "Converts between units of length, mass and volume: read units://all for their names.",
  },
);

server.registerTool(
  "convert_units",
  {
    title: "Convert units",
    description:
      "Converts a value from one unit to another. If a unit is `gal`, asks the user which gallon.",
    inputSchema: z.object({
      value: z.number(),
      from: z.string().describe("A unit, such as mi"),
      to: z.string().describe("A unit that measures the same, such as km"),
    }),
    outputSchema: z.object({ value: z.number(), unit: z.string() }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async ({ value, from, to }, ctx) => {
    const units: string[] = [];
    for (const unit of [from, to]) {
      if (unit !== "gal") {
        units.push(unit);
        continue;
      }
      const answer = await ctx.mcpReq.elicitInput({
        message: "Which gallon?",
        requestedSchema: {
          type: "object",
          properties: { gallon: { type: "string", enum: ["US", "imperial"] } },
          required: ["gallon"],
        },
      });
      if (answer.action !== "accept")
        throw new Error(
          "The conversion needs the kind of gallon: US or imperial. Call again and choose one.",
        );
      units.push(`gal (${String(answer.content?.["gallon"])})`);
    }
    const [source, target] = units as [string, string];
    const factors = Object.values(FACTORS).find(
      (units) => Object.hasOwn(units, source) && Object.hasOwn(units, target),
    );
    if (factors === undefined) {
      throw new Error(`${source} and ${target} are not two units of one kind: read units://all.`);
    }
    const result = { value: (value * factors[source]!) / factors[target]!, unit: target };
    return {
      content: [{ type: "text", text: `${value} ${source} = ${result.value} ${target}` }],
      structuredContent: result,
    };
  },
);

server.registerResource(
  "units",
  "units://all",
  { title: "All units", mimeType: "application/json" },
  async (uri) => {
    const names = Object.entries(FACTORS).map(([kind, units]) => [kind, Object.keys(units)]);
    const text = JSON.stringify(Object.fromEntries(names));
    return { contents: [{ uri: uri.href, mimeType: "application/json", text }] };
  },
);

await server.connect(new StdioServerTransport());
