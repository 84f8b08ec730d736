import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { post, URL_OF_MCP } from "../../worker/server.ts";
import { accept, as, keyed, prepare, server, type Json } from "../../worker/calls/client.ts";
import { ELICIT, saidIn } from "../../worker/calls/plans.ts";
import { Events, LATEST, messageIn } from "../../worker/mcp/legacy/session-client.ts";
import {
  begin,
  faultOf,
  objectOf,
  objects,
  planned,
  request,
  response,
  sessionOf,
  tell,
  textOf,
} from "../../worker/mcp/legacy/session-steps.ts";

/** Requests with an unknown, invalid or forbidden session, event, version or HTTP method. */
prepare();

const gone = {
  status: 404,
  code: -32600,
  text: expect.stringContaining(
    "Unknown or ended session. Send initialize, alone and not in a batch",
  ),
};

describe("a session", () => {
  const named = (id: string) => ({ "mcp-session-id": id, "mcp-protocol-version": LATEST });
  const plain = (method: string, headers: Record<string, string>) =>
    Promise.resolve(
      server.fetch(
        new Request(URL_OF_MCP, { method, headers: { accept: "text/event-stream", ...headers } }),
      ),
    );
  const all = (headers: Record<string, string>, app = server): Promise<Response>[] => [
    post(request(1, "ping"), headers, app),
    post({ jsonrpc: "2.0", method: "notifications/initialized" }, headers, app),
    post(response(1, accept("x")), headers, app),
    post([request(1, "ping")], headers, app),
  ];

  test("of another principal is none, whatever is asked of it", async () => {
    const app = await keyed("ada", "bob");
    const client = await begin({ server: app, ...as("ada") });
    const events = await planned(client, ELICIT);
    const { id } = await events.message();
    const theirs = as("bob").headers;
    for (const answer of await Promise.all(all({ ...named(client.id), ...theirs }, app))) {
      // A request is answered under its own id.
      expect(await faultOf(answer)).toEqual(gone);
    }
    const answered = await client.post(response(id, accept("theirs")), theirs);
    expect(await faultOf(answered)).toEqual(gone);
    expect(await faultOf(await client.listen(undefined, theirs))).toEqual(gone);
    const ended = new Request(URL_OF_MCP, {
      method: "DELETE",
      headers: { ...named(client.id), ...theirs },
    });
    expect(await faultOf(await app.fetch(ended))).toEqual(gone);
    expect((await client.post(request(1, "ping"), { authorization: "" })).status).toBe(401);
    expect((await client.answer(id, accept("ours"))).status).toBe(202);
    expect(saidIn(await events.message())).toEqual(["ours"]);
  });

  test("that there is not is none", async () => {
    const unknown = objects.newUniqueId().toString();
    const wrong = [unknown, "0".repeat(64), "x", "", "a".repeat(5000), unknown.slice(1)];
    for (const id of [...wrong, `${unknown}0`, "../../etc"]) {
      for (const answer of await Promise.all(all(named(id)))) {
        expect({ id, ...(await faultOf(answer)) }).toEqual({ id, ...gone });
      }
      for (const method of ["GET", "DELETE"]) {
        expect(await faultOf(await plain(method, named(id)))).toEqual(gone);
      }
    }
    const written = await runInDurableObject(sessionOf(unknown), (_instance, { storage }) =>
      storage.sql
        .exec<{ name: string }>("SELECT name FROM sqlite_master")
        .toArray()
        .filter(({ name }) => !name.startsWith("_cf_")),
    );
    expect(written).toEqual([]);
  });

  test("that has ended is none", async () => {
    const client = await begin();
    expect((await client.end()).status).toBe(204);
    for (const answer of await Promise.all(all(named(client.id)))) {
      expect(await faultOf(answer)).toEqual(gone);
    }
    expect(await faultOf(await client.listen())).toEqual(gone);
    expect(await faultOf(await client.end())).toEqual(gone);
    expect(await objectOf(client).changed([{ method: "notifications/tools/list_changed" }])).toBe(
      false,
    );
  });

  test.each<[method: string, params: Json]>([
    ["resources/subscribe", { uri: "test://a" }],
    ["resources/unsubscribe", { uri: "test://a" }],
    ["logging/setLevel", { level: "info" }],
    ["tasks/get", { taskId: "x" }],
    ["tasks/list", {}],
    ["tasks/cancel", { taskId: "x" }],
    ["tasks/result", { taskId: "x" }],
  ])("is needed by %s", async (method, params) => {
    const needed = { status: 400, code: -32600, text: expect.stringContaining("needs a session") };
    const headers = { "mcp-protocol-version": "2025-03-26" };
    expect(await faultOf(await post(request(1, method, params), headers, server))).toEqual(needed);
    const batch = [request(1, "ping"), request(2, method, params)];
    expect(await faultOf(await post(batch, headers, server))).toEqual(needed);
  });

  test("is needed by answers, GET and DELETE", async () => {
    const needed = { status: 400, code: -32600, text: expect.stringContaining("needs a session") };
    expect(await faultOf(await post(response(1, accept("x")), {}, server))).toEqual(needed);
    for (const method of ["GET", "DELETE"]) {
      expect(await faultOf(await plain(method, {}))).toEqual(needed);
    }
  });
});

describe("a GET", () => {
  const refused = { status: 400, code: -32600, text: expect.stringContaining("Last-Event-ID") };

  test("with the id of an event of another session is refused", async () => {
    const [client, other] = [await begin(), await begin()];
    await tell(client, "mine");
    await tell(other, "theirs");
    const events = new Events(await client.listen());
    const ids = [await events.next(), await events.next()].map((event) => event?.id);
    await events.drop();
    for (const id of ids) expect(await faultOf(await other.listen(id))).toEqual(refused);
  });

  test("with an invalid id is refused", async () => {
    const client = await begin();
    await tell(client, "one", "two");
    const events = new Events(await client.listen());
    await events.next();
    const { id = "" } = (await events.next())!;
    await events.drop();
    const [tag = ""] = id.split("-");
    const newer = [`${tag}-0-3`, `${tag}-0-99999999`, `${tag}-0-Infinity`];
    const other = [`${tag}-1-1`, `${tag}-7-0`, `${tag}--1-1`, `${tag}-0.5-1`, `${tag}-0-NaN`];
    const cut = [tag, `${tag}-`, `${tag}-0`, id.slice(1), "-0-1", `x${id}`];
    const none = ["", "1", "x", "null", "0-1", "'; DROP TABLE events", "a".repeat(5000)];
    for (const wrong of [...newer, ...other, ...cut, ...none]) {
      expect({ wrong, ...(await faultOf(await client.listen(wrong))) }).toEqual({
        wrong,
        ...refused,
      });
    }
    const again = new Events(await client.listen(id));
    expect(textOf(await again.message())).toBe("two");
    await again.drop();
  });

  test("needs a client that takes streams", async () => {
    const client = await begin();
    const refusal = await client.listen(undefined, { accept: "application/json" });
    expect(await faultOf(refusal)).toMatchObject({ status: 406 });
  });
});

test.each([["1.0"], ["latest"], ["2023-01-01"], ["2026-07-28"], [""]])(
  "the header MCP-Protocol-Version: %j is refused",
  async (version) => {
    const client = await begin();
    const headers = { "mcp-protocol-version": version };
    const posted = await client.post(request(1, "ping"), headers);
    expect(posted.status).toBe(400);
    const listened = await client.listen(undefined, headers);
    // That revision has no such streams.
    expect(listened.status).toBe(version === "2026-07-28" ? 405 : 400);
    expect((await messageIn(await client.request("ping")))["result"]).toEqual({});
  },
);

test("other methods of HTTP are not for it", async () => {
  const client = await begin();
  const headers = { "mcp-session-id": client.id };
  const answer = await server.fetch(new Request(URL_OF_MCP, { method: "PUT", headers }));
  expect(answer.status).toBe(405);
  expect(answer.headers.get("allow")).toBe("POST, GET, DELETE");
});
