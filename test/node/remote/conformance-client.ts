/** The client of `edge-servlets/remote` as the official conformance suite runs it: takes all lists, and calls each tool. */
import { RemoteClient, type RemoteCaller } from "../../../src/kit/remote-client.ts";
import { nodeWire } from "../../../src/languages/remote/connection.ts";
import type { Json } from "../../../src/server/kernel/core/model.ts";
import { hasWrongHeaders } from "../../../src/languages/remote/entries.ts";
import { exampleOf } from "../../../src/server/kernel/schema/example.ts";

const wire = nodeWire(process.argv.at(-1)!);
const { toolCalls = [] } = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as {
  toolCalls?: { name: string; arguments: Record<string, unknown> }[];
};

/** The answer to a question: for a form, its defaults. */
function answered({ method, params }: Record<string, any>): Record<string, unknown> {
  if (method === "roots/list") return { roots: [] };
  if (method === "sampling/createMessage")
    return { role: "assistant", model: "test", content: { type: "text", text: "ok" } };
  const fields = Object.entries<any>(params.requestedSchema?.properties ?? {});
  const content = Object.fromEntries(
    fields.map(([name, { default: usual, type }]) => [
      name,
      usual ?? (type === "boolean" ? true : type === "string" ? "ok" : 1),
    ]),
  );
  return { action: "accept", content };
}

const caller: RemoteCaller = {
  capabilities: {
    elicitation: { form: { applyDefaults: true }, url: {} },
    sampling: {},
    roots: {},
  },
  meta: {},
  notify: () => {},
  ask: async (requests) =>
    Object.fromEntries(
      Object.entries(requests).map(([key, request]) => [key, { result: answered(request) }]),
    ),
};

const info = { name: "edge-servlets", version: "1.0.0" };
const client = new RemoteClient({ version: "" }, { wire, info, headers: {} });
await client.begin(caller);
const all = await client.list("tools/list", "tools", caller);
const tools = all.filter(({ inputSchema }) => !hasWrongHeaders(inputSchema as Json));
/** The tool whose schema a scenario wants back as it was. */
const focal = tools.find(({ name }) => name === "json_schema_2020_12_tool");
const calls =
  toolCalls.length > 0
    ? toolCalls
    : tools.map((tool) => ({
        name: String(tool["name"]),
        arguments:
          tool["name"] === "json_schema_echo"
            ? { schema: focal?.["inputSchema"] }
            : (exampleOf(tool["inputSchema"] as Json, true) ?? {}),
      }));
for (const call of calls) {
  const tool = tools.find(({ name }) => name === call.name);
  await client.request("tools/call", call, caller, tool).catch(console.error);
}
wire.end();
process.exit(0);
