import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { answerOf, app, post, URL_OF_MCP } from "../../worker/server.ts";
import { accept, prepare, SAID, server as usual } from "../../worker/calls/client.ts";
import { ELICIT, log, saidIn } from "../../worker/calls/plans.ts";
import { LATEST, messageIn } from "../../worker/mcp/legacy/session-client.ts";
import {
  begin,
  isAlive,
  listened,
  objectOf,
  planned,
  request,
  tell,
  VERSIONS,
} from "../../worker/mcp/legacy/session-steps.ts";

/** How a session begins and ends, what goes without one, and how its storage keeps what is said. */
prepare();

describe("initialize", () => {
  test.each(VERSIONS)("agrees on %s, and gives the session's id", async (version) => {
    const { id, introduced } = await begin({ version });
    expect(id).toMatch(/^~[\w-]+$/);
    expect(introduced).toMatchObject({
      protocolVersion: version,
      serverInfo: { name: "edge-servlets" },
      capabilities: {
        logging: {},
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
      },
    });
    const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
    expect(introduced["capabilities"].tasks).toEqual(version === LATEST ? tasks : undefined);
  });

  test.each([["1999-01-01"], ["2026-07-28"], [7], [undefined]])(
    "offers the newest instead of %j",
    async (protocolVersion) => {
      const params = { protocolVersion, capabilities: {} };
      const body = { jsonrpc: "2.0", id: 0, method: "initialize", params };
      const response = await post(body, {}, usual);
      expect(response.headers.get("mcp-session-id")).toMatch(/^~[\w-]+$/);
      const { result } = await answerOf(response);
      expect(result?.["protocolVersion"]).toBe(LATEST);
    },
  );

  test("gives each client a session of its own", async () => {
    const [one, other] = await Promise.all([begin(), begin()]);
    expect(one.id).not.toBe(other.id);
    expect((await one.end()).status).toBe(204);
    expect(await isAlive(one)).toBe(false);
    expect(await isAlive(other)).toBe(true);
  });

  const ended = "0".repeat(64);
  test.each([
    ["a live session's id", undefined, LATEST],
    ["an unknown session's id", ended, LATEST],
    ["an id of another server", "no id of ours", LATEST],
    ["an empty id", "", LATEST],
    ["the version of the last session", ended, "2024-11-05"],
    ["a version without sessions", ended, "2026-07-28"],
    ["an unknown version", ended, "banana"],
  ])("begins another session with %s in its headers", async (_what, old, version) => {
    const client = await begin();
    const params = { protocolVersion: LATEST, capabilities: {} };
    const body = { jsonrpc: "2.0", id: 0, method: "initialize", params };
    const headers = { "mcp-session-id": old ?? client.id, "mcp-protocol-version": version };
    const response = await post(body, headers, usual);
    const id = response.headers.get("mcp-session-id");
    expect(response.status).toBe(200);
    expect(id).toMatch(/^~[\w-]+$/);
    expect(id).not.toBe(client.id);
    expect((await answerOf(response)).result?.["protocolVersion"]).toBe(LATEST);
    expect(await isAlive(client)).toBe(true);
  });

  test("answers on a stream where the client takes nothing else", async () => {
    const client = await begin({ headers: { accept: "text/event-stream" } });
    const response = await client.request("ping", {}, 7);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(await messageIn(response)).toEqual({ jsonrpc: "2.0", id: 7, result: {} });
  });
});

describe("without the bindings of Durable Objects", () => {
  test("initialize begins no session, and says nothing of what only sessions have", async () => {
    const response = await post(request(1, "initialize", { protocolVersion: LATEST }));
    expect(response.headers.get("mcp-session-id")).toBeNull();
    const { result } = await answerOf(response);
    expect(result?.["capabilities"]).toMatchObject({ tools: {}, resources: {} });
    expect(JSON.stringify(result?.["capabilities"])).not.toMatch(/listChanged|subscribe|tasks/);
  });

  test("each request is answered by itself, whatever session it names", async () => {
    const headers = { "mcp-session-id": "0".repeat(64), "mcp-protocol-version": LATEST };
    const { result } = await answerOf(await post(request(1, "ping"), headers));
    expect(result).toEqual({});
    expect((await post({ jsonrpc: "2.0", id: 1, result: {} }, headers)).status).toBe(202);
    const { error } = await answerOf(await post(request(1, "resources/subscribe"), headers));
    expect(error?.code).toBe(-32601);
  });

  test.each(["GET", "DELETE"])("%s is not for it", async (method) => {
    const headers = { accept: "text/event-stream" };
    const response = await app.fetch(new Request(URL_OF_MCP, { method, headers }));
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
  });
});

test("plain requests need no session", async () => {
  const greet = { name: "greet", arguments: { name: "Ada" } };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: greet };
  const response = await post(body, {}, usual);
  expect(response.headers.get("mcp-session-id")).toBeNull();
  expect((await answerOf(response)).result?.["content"][0].text).toBe("Hello, Ada!");
});

test("DELETE ends the calls and the streams of a session", async () => {
  const client = await begin();
  const own = await listened(client);
  const events = await planned(client, ELICIT);
  await events.message();
  expect((await client.end()).status).toBe(204);
  await own.rest();
  const rest = await events.rest();
  expect(rest.filter(({ message }) => message?.["result"] ?? message?.["error"])).toEqual([]);
  expect(await isAlive(client)).toBe(false);
});

test("nothing of what is said stands in the session's storage in the clear", async () => {
  const SECRET = "s3cr3t-marker";
  const client = await begin();
  const stored = () =>
    runInDurableObject(objectOf(client), (_instance, { storage }) => {
      const { sql } = storage;
      const tables = sql
        .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
        .toArray()
        .filter(({ name }) => !name.startsWith("_cf_"));
      const rows = tables.flatMap(({ name }) => sql.exec(`SELECT * FROM ${name}`).toArray());
      const cells = rows.flatMap((row) => Object.values(row));
      return cells.map((cell) =>
        cell instanceof ArrayBuffer ? new TextDecoder("latin1").decode(cell) : String(cell),
      );
    });
  const ask = (what: string) => ({ do: what, message: `${SECRET} in a question` });
  const events = await planned(client, log(`${SECRET} in a log`), ask("elicit"), ask("sample"));
  await events.message();
  const { id } = await events.message();
  const during = await stored();
  expect(during).toContain("tools/call");
  expect(during.length).toBeGreaterThan(10);
  expect(during.filter((cell) => cell.includes(SECRET))).toEqual([]);
  await client.answer(id, accept(`${SECRET} in an answer`));
  const sampling = await events.message();
  await client.answer(sampling["id"], { ...SAID, content: { type: "text", text: SECRET } });
  expect(JSON.stringify(saidIn(await events.message()))).toContain(SECRET);
  await tell(client, SECRET);
  const after = await stored();
  expect(after.filter((cell) => cell.startsWith("event "))).toHaveLength(5);
  expect(after.filter((cell) => cell.includes(SECRET))).toEqual([]);
});
