import { describe, expect, test } from "vitest";
import { greet, serverOf } from "../auth/key-holders.ts";
import { as, prepare } from "../calls/client.ts";
import { answerOf, modern, VERSION, postTo } from "../server.ts";

/**
 * An accepted deviation weakens no security check: identity, scopes, origin and the owner of a session or task
 * are checked as strictly as without it.
 */
prepare();

const MCP = "http://localhost:8787/mcp";
const FOREIGN = { origin: "https://elsewhere.example" };
const server = () => serverOf({ ada: {}, bob: { scopes: ["reader"] } });

describe("/mcp/ is /mcp, and", () => {
  const send = async (caller: string | undefined, more: Record<string, string> = {}) => {
    const { body, headers } = modern("tools/call", greet);
    const key = caller === undefined ? {} : as(caller).headers;
    return postTo(await server(), `${MCP}/`, body, { ...headers, ...key, ...more });
  };

  test("lets a key in", async () => {
    expect((await send("ada")).status).toBe(200);
  });

  test("no page of another origin", async () => {
    expect((await send("ada", FOREIGN)).status).toBe(403);
  });

  test("no key to what its scopes do not have", async () => {
    expect((await send("bob")).status).toBe(403);
  });
});

describe("a notification without _meta is taken, and", () => {
  const body = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
  const version = { "mcp-protocol-version": VERSION };
  const send = async (more: Record<string, string>, sent: object = body) =>
    (await postTo(await server(), MCP, sent, { ...version, ...more })).status;

  test("is of one who has a key", async () => {
    expect(await send(as("ada").headers)).toBe(202);
    expect(await send({})).toBe(401);
    expect(await send(as("eve").headers)).toBe(401);
  });

  test("of no page of another origin", async () => {
    expect(await send({ ...as("ada").headers, ...FOREIGN })).toBe(403);
  });

  test("with an id is a request, which needs all parts", async () => {
    expect(await send(as("ada").headers, { ...body, id: 1 })).toBe(400);
    expect(await send(as("ada").headers, { ...body, id: null })).toBe(400);
  });
});

describe("null for an optional argument is left out, and", () => {
  const told = (through: unknown) => ({ name: "told", arguments: { text: "{}", through } });
  const send = async (params: Record<string, unknown>, more: Record<string, string> = {}) => {
    const { body, headers } = modern("tools/call", params);
    return postTo(await serverOf({ ada: {} }), MCP, body, {
      ...headers,
      ...as("ada").headers,
      ...more,
    });
  };

  test("has no header beside it that says otherwise", async () => {
    expect((await send(told(null))).status).toBe(200);
    expect((await send(told(null), { "mcp-param-through": "error" })).status).toBe(400);
  });

  test("a name that is null is no name", async () => {
    const { error } = await answerOf(await send({ name: null }, { "mcp-name": "greet" }));
    expect(error?.code).toBe(-32602);
  });
});
