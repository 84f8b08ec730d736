import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { built, Operator, serveInstalling } from "./installing.ts";

/** Servlets that keep state are installed on a server that runs, and replaced; their state stays. */

const hash = async (key: string) =>
  Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(key))).toString("hex");

const KEYS = { ada: "key-of-ada", bob: "key-of-bob", operator: "key-of-operator" };

let server: Awaited<ReturnType<typeof serveInstalling>>;
let operator: Operator;
beforeAll(async () => {
  const keys = {
    ada: { hash: await hash(KEYS.ada) },
    bob: { hash: await hash(KEYS.bob) },
    operator: { hash: await hash(KEYS.operator), scopes: ["operator"] },
  };
  server = await serveInstalling({ API_KEYS: JSON.stringify(keys) });
  operator = new Operator(server.url, { authorization: `Bearer ${KEYS.operator}` });
});
afterAll(() => server.close());

async function connected(who: "ada" | "bob") {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  const headers = { authorization: `Bearer ${KEYS[who]}` };
  await client.connect(new StreamableHTTPClientTransport(server.url, { requestInit: { headers } }));
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { content } = await client.callTool({ name, arguments: args });
    return (content as { text: string }[])[0]!.text;
  };
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  return { client, call, names };
}

const EVENTUALLY = { timeout: 15_000, interval: 200 };

const counter = (version: string) => `import { defineServlet } from "edge-servlets/servlet";
import { readFile, writeFile } from "edge-servlets/files";
let count = 0;
export default defineServlet({ tools: {
  count: { description: "Counts, ${version}.", handler: () => "${version}: " + ++count },
  write: { description: "Writes.", input: { type: "object", properties: { text: { type: "string" } } } as const,
    handler: ({ text }) => { count++; writeFile("/data/note", text ?? ""); return "written"; } },
  read: { description: "Reads.", handler: () => readFile("/data/note", "utf8") + " " + readFile("/words/first", "utf8") },
} });`;

describe("an installed servlet that keeps state", () => {
  test("counts for each caller", async () => {
    await operator.put(
      await built("counter", counter("one"), {
        state: "caller",
        allowed_paths: ["data:/data", "ro:words:/words"],
      }),
    );
    const { call, names, client } = await connected("ada");
    await expect.poll(names, EVENTUALLY).toContain("count");
    expect(await call("count")).toBe("one: 1");
    expect(await call("count")).toBe("one: 2");
    expect(await call("write", { text: "hello" })).toBe("written");
    expect(await call("count")).toBe("one: 4");
    await client.close();
  });
});
