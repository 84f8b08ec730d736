import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { digestOf } from "../../../../src/tools/bundle/digests.ts";
import { built, builtFrom, Operator, serveInstalling } from "../../../node/http/installing.ts";

/** Servlets that keep state are installed on a server that runs, and replaced: what they keep stays. */

const KEYS = { ada: "key-of-ada", bob: "key-of-bob", operator: "key-of-operator" };

let server: Awaited<ReturnType<typeof serveInstalling>>;
let operator: Operator;
beforeAll(async () => {
  const keys = Object.entries(KEYS).map(([name, key]) => {
    const scopes = name === "operator" ? { scopes: ["operator"] } : {};
    return [name, { hash: digestOf(new TextEncoder().encode(key)), ...scopes }];
  });
  server = await serveInstalling({ API_KEYS: JSON.stringify(Object.fromEntries(keys)) });
  operator = new Operator(server.url, { authorization: `Bearer ${KEYS.operator}` });
});
afterAll(() => server.close());

async function connected(who: "ada" | "bob", onAsk?: () => Promise<void>) {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    {
      versionNegotiation: { mode: { pin: "2026-07-28" } },
      capabilities: { elicitation: { form: {} } },
    },
  );
  client.setRequestHandler("elicitation/create", async () => {
    await onAsk?.();
    return { action: "accept", content: {} };
  });
  const headers = { authorization: `Bearer ${KEYS[who]}` };
  await client.connect(new StreamableHTTPClientTransport(server.url, { requestInit: { headers } }));
  const call = async (name: string, args: Record<string, unknown> = {}, signal?: AbortSignal) => {
    const { content } = await client.callTool(
      { name, arguments: args },
      { ...(signal && { signal }) },
    );
    return (content as { text: string }[])[0]!.text;
  };
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  return { client, call, names };
}

const EVENTUALLY = { timeout: 15_000, interval: 200 };

const source = (version: string) => `import { defineServlet } from "edge-servlets/servlet";
import { readFile, writeFile } from "edge-servlets/files";
const text = { type: "object", properties: { text: { type: "string" } } };
let count = 0;
export default defineServlet({ tools: {
  count: { description: "Counts, ${version}.", handler: () => "${version}: " + ++count },
  note: { description: "Keeps a note.", input: text, handler: ({ text }) => { count++; writeFile("/data/note", text ?? ""); return "kept"; } },
  read: { description: "Reads.", handler: () => readFile("/data/note", "utf8") + ", " + readFile("/words/first", "utf8") },
  fill: { description: "Writes too much.", handler: () => { writeFile("/data/big", "x".repeat(200_000)); return "written"; } },
  spin: { description: "Never ends.", handler: () => { count = 1000; writeFile("/data/note", "spun"); for (;;); } },
  look: { description: "Fetches.", input: text, handler: async ({ text }, context) => {
    count = 2000; return String((await context.fetch(text ?? "")).status); } },
  ask: { description: "Asks.", handler: async (_, context) => {
    const { action } = await context.elicit({ message: "?", schema: { type: "object", properties: {} } });
    return "${version}: " + action + " " + ++count; } },
} });`;

const MANIFEST = {
  state: "caller",
  allowed_paths: ["data:/data", "ro:words:/words"],
  allowed_hosts: ["127.0.0.1"],
  files_limit: "128Ki",
  compute_limit: 0.5,
};

const version = (name: string) =>
  built("keeper", source(name), MANIFEST, {
    "data/note": "a note to begin with",
    "words/first": `the word of ${name}`,
  });

test("begins with its files, and keeps memory and files for each caller", async () => {
  await operator.put(await version("one"));
  const ada = await connected("ada");
  const bob = await connected("bob");
  await expect.poll(ada.names, EVENTUALLY).toContain("count");
  expect(await ada.call("read")).toBe("a note to begin with, the word of one");
  expect(await ada.call("note", { text: "of ada" })).toBe("kept");
  expect(await ada.call("count")).toBe("one: 2");
  await expect.poll(bob.names, EVENTUALLY).toContain("count");
  expect(await bob.call("count")).toBe("one: 1");
  expect(await bob.call("read")).toBe("a note to begin with, the word of one");
  const counts = await Promise.all(Array.from({ length: 20 }, () => ada.call("count")));
  const expected = Array.from({ length: 20 }, (_, nth) => `one: ${nth + 3}`);
  expect(counts.toSorted()).toEqual(expected.toSorted());
  await ada.client.close();
  await bob.client.close();
});

test("changes nothing in a call that computes too long, is cancelled or has no room", async () => {
  const { call, client } = await connected("ada");
  expect(await call("spin").catch(String)).toMatch(/comput/);
  expect(await call("fill")).toMatch(/^ENOSPC/);
  const slow = createServer(() => {});
  await once(slow.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`;
  const stop = new AbortController();
  const asked = once(slow, "request");
  const looking = call("look", { text: url }, stop.signal).catch(() => "cancelled");
  await asked;
  stop.abort();
  expect(await looking).toBe("cancelled");
  expect(await call("count")).toBe("one: 23");
  expect(await call("read")).toBe("of ada, the word of one");
  slow.closeAllConnections();
  slow.close();
  await client.close();
});

test("asks its user, and goes on in the state as it then is", async () => {
  const other = await connected("ada");
  const { call, client } = await connected("ada", async () => void (await other.call("count")));
  expect(await call("ask")).toBe("one: accept 25");
  await client.close();
  await other.client.close();
});

test("begins anew with another build, and keeps its files; a call that waits says so", async () => {
  const two = await version("two");
  const other = await connected("ada");
  const { call, client } = await connected("ada", async () => {
    await operator.put(two);
    await expect.poll(() => other.call("count"), EVENTUALLY).toBe("two: 1");
  });
  expect(await call("ask").catch(String)).toMatch(/updated after this call began/);
  expect(await call("count")).toBe("two: 2");
  expect(await call("read")).toBe("of ada, the word of two");
  await operator.json("POST", "servlet/keeper", { rollback: 1 });
  await expect.poll(() => call("read"), EVENTUALLY).toBe("of ada, the word of one");
  expect(await call("count")).toBe("one: 1");
  await client.close();
  await other.client.close();
});

test("can be looked at, exported, imported and deleted, also when it is uninstalled", async () => {
  const { call, names, client } = await connected("ada");
  const of = (what: string) => `${what}/keeper?scope=caller:ada`;
  expect(await operator.json("GET", of("state"))).toMatchObject({
    isOfThisBuild: true,
    memoryBytes: expect.any(Number),
    files: expect.arrayContaining([expect.objectContaining({ path: "data/note", size: 6 })]),
  });
  const file = new Uint8Array(await (await operator.send("GET", of("state-file"))).arrayBuffer());
  expect(await call("note", { text: "another" })).toBe("kept");
  await operator.json("PUT", of("state"), file);
  expect(await call("read")).toBe("of ada, the word of one");
  expect(await call("count")).toBe("one: 2");
  await operator.json("DELETE", "servlet/keeper");
  await expect.poll(names, EVENTUALLY).not.toContain("count");
  expect(await operator.json("GET", of("state"))).toMatchObject({
    isOfThisBuild: false,
    files: expect.arrayContaining([expect.objectContaining({ path: "data/note", size: 6 })]),
  });
  expect(await operator.json("DELETE", "state/?caller=ada")).toMatchObject({
    servlets: expect.arrayContaining(["keeper"]),
  });
  expect(await operator.json("GET", of("state"))).toMatchObject({ memoryBytes: 0, files: [] });
  await operator.put(await version("one"));
  await expect.poll(names, EVENTUALLY).toContain("count");
  expect(await call("count")).toBe("one: 1");
  expect(await call("read")).toBe("a note to begin with, the word of one");
  await client.close();
});

test("lists what its caller has added", async () => {
  await operator.put(await builtFrom("test/guests/growing", "sprout", { prefix: "sprout" }));
  const ada = await connected("ada");
  const bob = await connected("bob");
  await expect.poll(ada.names, EVENTUALLY).toContain("sprout-add");
  expect(await ada.call("sprout-add", { name: "leaf" })).toBe("added");
  await expect.poll(ada.names, EVENTUALLY).toContain("sprout-leaf");
  expect(await bob.names()).not.toContain("sprout-leaf");
  await ada.client.close();
  await bob.client.close();
});
