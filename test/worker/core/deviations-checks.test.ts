import { describe, expect, test } from "vitest";
import { greet, serverOf, type Server } from "../auth/key-holders.ts";
import { ORIGIN, ownersApp } from "../auth/owner.ts";
import { ELICIT, log, steps } from "../calls/plans.ts";
import { ABLE, as, prepare, TASKS } from "../calls/client.ts";
import { begin, listened } from "../mcp/legacy/session-steps.ts";
import { answerOf, modern, VERSION } from "../server.ts";

/**
 * An accepted deviation weakens no security check: identity, scopes, origin and the owner of a session or task
 * are checked as strictly as without it.
 */
prepare();

const MCP = "http://localhost:8787/mcp";
const FOREIGN = { origin: "https://elsewhere.example" };
const server = () => serverOf({ ada: {}, bob: { scopes: ["reader"] } });

const postTo = (
  to: Server,
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  Promise.resolve(
    to.fetch(
      new Request(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...headers,
        },
        body: JSON.stringify(body),
      }),
    ),
  );

describe("/mcp/ is /mcp, and", () => {
  const send = async (caller: string | undefined, more: Record<string, string> = {}) => {
    const { body, headers } = modern("tools/call", greet);
    const key = caller === undefined ? {} : as(caller).headers;
    return postTo(await server(), `${MCP}/`, body, { ...headers, ...key, ...more });
  };

  test("lets a key in", async () => {
    expect((await send("ada")).status).toBe(200);
  });

  test("nobody without one, and the refusal names the resource as the client does", async () => {
    expect((await send(undefined)).status).toBe(401);
    const response = await postTo(await ownersApp(), `${ORIGIN}/mcp/`, {});
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toContain(
      `resource_metadata="${ORIGIN}/.well-known/oauth-protected-resource/mcp/"`,
    );
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

describe("tasks/* without Mcp-Name is taken, and", () => {
  const asTasks = { "io.modelcontextprotocol/clientCapabilities": { ...ABLE, ...TASKS } };

  async function begun() {
    const to = await serverOf({ ada: {}, bob: {} });
    const call = modern("tools/call", { name: "plan_always", arguments: steps(ELICIT) }, asTasks);
    const response = await postTo(to, MCP, call.body, { ...call.headers, ...as("ada").headers });
    const taskId = (await answerOf(response)).result?.["taskId"] as string;
    const send = async (caller: string, method: string, more: Record<string, string> = {}) => {
      const { body, headers } = modern(method, { taskId, inputResponses: {} }, asTasks);
      return postTo(to, MCP, body, { ...headers, ...as(caller).headers, ...more });
    };
    return { taskId, send };
  }

  test("means the task that the body names", async () => {
    const { taskId, send } = await begun();
    expect((await answerOf(await send("ada", "tasks/get"))).result).toMatchObject({ taskId });
  });

  test.each(["tasks/get", "tasks/update", "tasks/cancel"])(
    "%s of another's task finds none",
    async (method) => {
      const { taskId, send } = await begun();
      const { error } = await answerOf(await send("bob", method));
      expect(error?.message).toContain(`Unknown task: ${taskId}`);
      const { result } = await answerOf(await send("ada", "tasks/get"));
      expect(["working", "input_required"]).toContain(result?.["status"]);
    },
  );

  test("one that differs is refused", async () => {
    const { send } = await begun();
    expect((await send("ada", "tasks/get", { "mcp-name": "another" })).status).toBe(400);
  });

  test("a tool's call needs its own", async () => {
    const { body, headers } = modern("tools/call", greet);
    const { "mcp-name": _, ...rest } = headers;
    const response = await postTo(await server(), MCP, body, { ...rest, ...as("ada").headers });
    expect(response.status).toBe(400);
  });
});

describe("a second standalone stream takes over, and", () => {
  test("only that of the session's own principal", async () => {
    const to = await serverOf({ ada: {}, bob: {} });
    const client = await begin({ ticket: false, server: to, ...as("ada") });
    const first = await listened(client);
    for (const headers of [as("bob").headers, { authorization: "" }]) {
      expect((await client.listen(undefined, headers)).ok).toBe(false);
    }
    await client.call("plan", steps({ do: "changed" }, log("x")));
    expect(await first.message()).toMatchObject({
      method: "notifications/resources/list_changed",
    });
    const second = await listened(client);
    await first.rest();
    await second.drop();
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
