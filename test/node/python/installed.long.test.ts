import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { builtFrom, request, serveLoading } from "../http/installing.ts";

/** Servlets in Python are installed on a server that runs: it loads CPython into an isolate of its own. */
const headers = { authorization: "Bearer any" };
let server: Awaited<ReturnType<typeof serveLoading>>;
beforeAll(async () => {
  server = await serveLoading();
});
afterAll(() => server.close());

const call = async (name: string, args: object) =>
  request(server.url, { method: "tools/call", params: { name, arguments: args } }, headers);

/** Isolates hear of what was installed a moment later. */
const heard = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 15_000, interval: 200 });

test("a servlet is installed and called, and another one sends no more than its own part", async () => {
  const python = await builtFrom("test/python/py", "py");
  await server.operator.put(python);
  const greeted = { content: [{ type: "text", text: "Hello, Ada" }] };
  await heard(async () => expect(await call("py_greet", { name: "Ada" })).toMatchObject(greeted));
  const tables = await builtFrom("plugins/tables", "sheets");
  const engine = [...python.code.keys()].find((digest) => tables.code.has(digest))!;
  expect(python.code.get(engine)!.bytes.length).toBeGreaterThan(5e6);
  const { missing } = await server.operator.json("PUT", "servlet/sheets", tables.build);
  expect(missing).not.toContain(engine);
  await server.operator.put(tables);
  const people = { table: "people", text: "id,name\n1,Ada\n" };
  await heard(async () => expect(await call("tables_load", people)).toHaveProperty("content"));
  expect(await call("tables_query", { sql: "SELECT name FROM people" })).toMatchObject({
    structuredContent: { rows: [["Ada"]] },
  });
});
