/** Servlets of other MCP servers in workerd, where processes on either side are killed. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { remoteServlet } from "../../../src/languages/remote/servlet.ts";
import { bundleSource } from "../../../src/tools/bundle/bundle-module.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { connectV1 } from "../http/official.ts";
import { OBJECTS } from "../objects.ts";
import { buildWorker, freePort, serve, stop, type Served } from "../workerd.ts";
import { modernServer, sessionServer, type RemoteServer } from "./remote-servers.ts";

let served: Served;
let folder: string;
let url: URL;
const ports = { own: 0, modern: 0, stored: 0 };
let modern: RemoteServer;
let stored: RemoteServer;
let plain: RemoteServer;

async function start() {
  served = await serve(join(folder, "built"), {
    port: ports.own,
    durable: join(folder, "storage"),
  });
}

beforeAll(async () => {
  for (const name of ["own", "modern", "stored"] as const) ports[name] = await freePort();
  [modern, stored, plain] = await Promise.all([
    modernServer(ports.modern),
    sessionServer({ stores: true }, ports.stored),
    sessionServer(),
  ]);
  await mkdir(".bundle", { recursive: true });
  folder = await mkdtemp(join(".bundle", "remotes-"));
  const servers = { modern, stored, plain };
  for (const [name, server] of Object.entries(servers)) {
    const { files } = await remoteServlet(name, server.url, { variables: async () => ({}) });
    await mkdir(join(folder, "plugins", name), { recursive: true });
    for (const [file, text] of files) await writeFile(join(folder, "plugins", name, file), text);
    const manifest = { ...JSON.parse(files.get("servlet.json")!), $schema: undefined };
    // Clients that take tasks get one for each call of these tools.
    const task = { task: "always" };
    const tasked = { ...manifest, tools: { confirm: task, waits: task } };
    await writeFile(join(folder, "plugins", name, "servlet.json"), JSON.stringify(tasked));
  }
  const members = await makeBundle({
    folders: [join(folder, "plugins")],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
    optimise: false,
  });
  const out = join(folder, "bundle.gen.ts");
  await writeFile(out, bundleSource(members, out));
  const worker = JSON.stringify(relative(folder, resolve("src/server/worker.ts")));
  const entry = `import { createWorker } from ${worker};
import { bundle } from "./bundle.gen.ts";
const { worker, objects } = createWorker(bundle);
export const { ${Object.values(OBJECTS).join(", ")} } = objects;
export default worker;
`;
  await writeFile(join(folder, "index.ts"), entry);
  await buildWorker(join(folder, "index.ts"), join(folder, "built"));
  url = new URL(`http://127.0.0.1:${ports.own}/mcp`);
  await start();
}, 120_000);

afterAll(async () => {
  await Promise.all([stop(served), modern.close(), stored.close(), plain.close()]);
  await rm(folder, { recursive: true, force: true });
});

const META = "io.modelcontextprotocol/";
const TASKS = { extensions: { [`${META}tasks`]: {} } };

/** Sends a request of 2026-07-28; returns the result, or the error. */
async function send(method: string, params: any, capabilities: object = {}, signal?: AbortSignal) {
  const _meta = {
    [`${META}protocolVersion`]: "2026-07-28",
    [`${META}clientCapabilities`]: capabilities,
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": params.name ?? params.taskId,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
    ...(signal && { signal }),
  });
  const text = await response.text();
  const last = text.startsWith("{") ? text : text.split("data: ").at(-1)!;
  const { result, error } = JSON.parse(last) as { result?: any; error?: any };
  return result ?? error;
}

const YES = { action: "accept", content: { confirm: true } };
const FORMS = { elicitation: { form: {} } };

test("a question of the server waits over a kill on either side", async () => {
  const call = { name: "modern-confirm", arguments: { text: "it" } };
  const asked = await send("tools/call", call, FORMS);
  expect(asked.resultType).toBe("input_required");
  const [key] = Object.keys(asked.inputRequests);
  await stop(served);
  await modern.close();
  modern = await modernServer(ports.modern);
  await start();
  const { requestState } = asked;
  const again = { ...call, requestState, inputResponses: { [key!]: YES } };
  const result = await send("tools/call", again, FORMS);
  expect(result.content).toEqual([{ type: "text", text: "deleted it" }]);
  expect(modern.ran).toEqual(["confirm"]);
});

test("a question waits as a task over a kill of this server, and the server's tool runs once", async () => {
  modern.ran.length = 0;
  const call = { name: "modern-confirm", arguments: { text: "it" } };
  const { taskId } = await send("tools/call", call, { ...TASKS, ...FORMS });
  const look = () => send("tasks/get", { taskId }, TASKS);
  const waiting = await vi.waitUntil(
    async () => {
      const task = await look();
      return task.status === "input_required" ? task : undefined;
    },
    { timeout: 30_000, interval: 100 },
  );
  await stop(served);
  await start();
  const [key] = Object.keys(waiting.inputRequests);
  await send("tasks/update", { taskId, inputResponses: { [key!]: YES } }, TASKS);
  const done = await vi.waitUntil(
    async () => {
      const task = await look();
      return task.status === "completed" ? task : undefined;
    },
    { timeout: 30_000, interval: 100 },
  );
  expect(done.result.content).toEqual([{ type: "text", text: "deleted it" }]);
  expect(modern.ran).toEqual(["confirm"]);
});

test.each(["confirm", "confirm_beside"])(
  "a question in a stream (%s) of a server with sessions waits over a kill of this server",
  async (tool) => {
    stored.ran.length = 0;
    const call = { name: `stored-${tool}`, arguments: {} };
    const asked = await send("tools/call", call, FORMS);
    expect(asked.resultType).toBe("input_required");
    await stop(served);
    await start();
    const [key] = Object.keys(asked.inputRequests);
    const again = { ...call, requestState: asked.requestState, inputResponses: { [key!]: YES } };
    const result = await send("tools/call", again, FORMS);
    expect(result.content).toEqual([{ type: "text", text: JSON.stringify(YES) }]);
    expect(stored.ran).toEqual([tool]);
  },
);

test("a question whose server has lost its session meanwhile ends with a message", async () => {
  const call = { name: "stored-confirm", arguments: {} };
  const asked = await send("tools/call", call, FORMS);
  stored.forget();
  const [key] = Object.keys(asked.inputRequests);
  const again = { ...call, requestState: asked.requestState, inputResponses: { [key!]: YES } };
  const result = await send("tools/call", again, FORMS);
  expect(result.isError).toBe(true);
  expect(result.content[0].text).toMatch(/has lost the session/);
});

test("a call that runs at the server when this server is killed is not sent again", async () => {
  modern.heard.length = 0;
  const { taskId } = await send("tools/call", { name: "modern-waits", arguments: {} }, TASKS);
  await vi.waitUntil(() => modern.heard.includes("tools/call"), { timeout: 30_000 });
  await stop(served);
  await start();
  const done = await vi.waitUntil(
    async () => {
      const task = await send("tasks/get", { taskId }, TASKS);
      return task.status === "working" ? undefined : task;
    },
    { timeout: 60_000, interval: 200 },
  );
  expect(done.result.content[0].text).toMatch(/outcome .* is unknown/);
  expect(modern.heard.filter((method) => method === "tools/call")).toHaveLength(1);
}, 90_000);

describe("a client that leaves", () => {
  test.each([
    ["modern", () => modern],
    ["plain", () => plain],
  ])("stops the call at the server %s", async (name, server) => {
    const { heard, ran } = server();
    heard.length = ran.length = 0;
    const leaving = new AbortController();
    const sent = send("tools/call", { name: `${name}-waits`, arguments: {} }, {}, leaving.signal);
    await vi.waitUntil(() => heard.includes("tools/call"), { timeout: 10_000 });
    leaving.abort();
    await expect(sent).rejects.toThrow();
    await vi.waitUntil(() => ran.includes("stopped"), { timeout: 10_000 });
  });
});

describe("a client with sessions", () => {
  test.each(["modern", "stored", "plain"])(
    "has progress and results of the server %s",
    async (name) => {
      const { client } = await connectV1(url, {});
      for (let round = 0; round < 2; round++) {
        const heard: number[] = [];
        const result = await client.callTool(
          { name: `${name}-progress`, arguments: {} },
          undefined,
          {
            onprogress: ({ progress }: { progress: number }) => heard.push(progress),
          } as never,
        );
        expect(result.content).toMatchObject([{ text: "done" }]);
        expect(heard.slice(0, 2)).toEqual([1, 2]);
      }
      await client.close();
    },
  );
});
