import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { SIGN_IN_PATH } from "../../../src/server/features/people/paths.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { bundle as whole } from "../../bundle.gen.ts";
import { bundle, serverOf, type Server } from "./key-holders.ts";
import { modern } from "../server.ts";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { PASSPHRASE } from "./owner.ts";

/** How many bytes of bodies the server holds at once, and for how long. */

const usual = { ...limits };
afterEach(() => configureLimits(usual));

const ORIGIN = "http://localhost:8787";

/** A body that says how much of it was read. `rest` is what it does after its text. */
function bodyOf(text: string, rest: "ends" | "hangs" | "goes on" = "ends") {
  const read = { bytes: 0, isCancelled: false };
  const { promise: end, resolve: close } = Promise.withResolvers<void>();
  const source: UnderlyingSource<Uint8Array> = {
    pull(controller) {
      if (read.bytes === 0 || rest === "goes on") {
        const chunk = new TextEncoder().encode(text);
        read.bytes += chunk.length;
        return controller.enqueue(chunk);
      }
      if (rest === "ends") return controller.close();
      return end.then(() => controller.close());
    },
    cancel() {
      read.isCancelled = true;
    },
  };
  return { read, close, stream: new ReadableStream(source, { highWaterMark: 0 }) };
}

interface Sent {
  body: BodyInit;
  headers?: Record<string, string>;
  method?: string;
  path?: string;
}

const fetchOf = (server: Server, { body, headers = {}, method = "POST", path = "/mcp" }: Sent) =>
  Promise.resolve(server.fetch(new Request(new URL(path, ORIGIN), { method, headers, body })));

const JSON_HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};
const newId = () => crypto.randomUUID();

/** A call of a tool with a body of some more than `bytes` bytes. */
function call(key: string, name: string, args: object, bytes = 0): Sent {
  const { body, headers } = modern("tools/call", { name, arguments: args, more: "" });
  const text = JSON.stringify(body).replace('"more":""', `"more":"${"x".repeat(bytes)}"`);
  return { body: text, headers: { ...JSON_HEADERS, ...headers, authorization: `Bearer ${key}` } };
}

const waiting = (key: string, bytes: number) => call(key, "wait", { seconds: 0.3 }, bytes);
const greeting = (key: string, bytes: number) => call(key, "greet", { name: "Ada" }, bytes);

/** A request of which so many bytes have come and no more; the function that it returns ends it. */
async function hanging(server: Server, sent: Sent, bytes: number): Promise<() => Promise<void>> {
  const { read, stream, close } = bodyOf(" ".repeat(bytes), "hangs");
  const response = fetchOf(server, {
    ...sent,
    headers: { ...JSON_HEADERS, ...sent.headers },
    body: stream,
  });
  await expect.poll(() => read.bytes).toBe(bytes);
  return async () => {
    close();
    await (await response).text();
  };
}

/** One byte of somebody else's that is in flight: a body that is alone always has room. */
const other = (server: Server) =>
  hanging(server, { body: "", headers: { "cf-connecting-ip": "192.0.2.1" }, path: "/nope" }, 1);

async function two(others: object) {
  const [ada, bob] = [newId(), newId()];
  configureLimits(others);
  const server = await serverOf({ [ada]: {}, [bob]: {} });
  return { ada, bob, server };
}

describe("the bytes of requests in flight", () => {
  test("are counted until the response has ended", async () => {
    const { ada, server } = await two({ bodiesBytes: 16_000 });
    const both = await Promise.all([1, 2].map(() => fetchOf(server, waiting(ada, 6000))));
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 429]);
    const refused = both.find(({ status }) => status === 429)!;
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await refused.text()).toContain("bytes in concurrent requests");
    await both.find(({ status }) => status === 200)!.text();
    expect((await fetchOf(server, greeting(ada, 6000))).status).toBe(200);
  });

  test("leave half of the room to others, however many come", async () => {
    const keys = Object.fromEntries(Array.from({ length: 4 }, () => [newId(), {}]));
    const server = await serverOf(keys, { LIMITS: '{"bodiesBytes":64000}' });
    const [last = "", ...names] = Object.keys(keys);
    const held = names.map((key, at) => hanging(server, greeting(key, 0), 30_000 / 2 ** at));
    const ends = await Promise.all(held);
    const full = await fetchOf(server, greeting(last, 6000));
    expect(full.status).toBe(503);
    expect(full.headers.get("retry-after")).toBe("1");
    expect((await fetchOf(server, greeting(last, 1000))).status).toBe(200);
    await Promise.all(ends.map((end) => end()));
    expect((await fetchOf(server, greeting(last, 30_000))).status).toBe(200);
  });

  test.each([
    ["refused arguments", () => call("KEY", "greet", { name: 5 }, 6000)],
    ["no JSON", () => ({ ...greeting("KEY", 0), body: "x".repeat(6000) })],
    [
      "an unknown method",
      () => ({ ...greeting("KEY", 0), body: `{"method":"${"x".repeat(6000)}"}` }),
    ],
    ["an answer", () => greeting("KEY", 6000)],
  ])("are given back after %s", async (_what, sent) => {
    const { ada, server } = await two({ bodiesBytes: 16_000 });
    const headers = { ...sent().headers, authorization: `Bearer ${ada}` };
    for (let at = 0; at < 4; at++) {
      const response = await fetchOf(server, { ...sent(), headers });
      expect([200, 202, 400]).toContain(response.status);
      await response.text();
    }
  });

  test("always have room for a body that is alone", async () => {
    const { ada, server } = await two({ bodiesBytes: 100 });
    expect((await fetchOf(server, greeting(ada, 6000))).status).toBe(200);
  });

  test("are refused by the announced length, before any is read", async () => {
    const { ada, server } = await two({ bodiesBytes: 16_000 });
    const end = await other(server);
    const { read, stream } = bodyOf("{");
    const { headers } = greeting(ada, 0);
    const sent = { body: stream, headers: { ...headers, "content-length": "9000" } };
    expect((await fetchOf(server, sent)).status).toBe(503);
    expect(read.bytes).toBe(0);
    await end();
  });

  test("are counted as they come where no length is announced", async () => {
    const { ada, server } = await two({ bodiesBytes: 16_000 });
    const end = await other(server);
    const { read, stream } = bodyOf(" ".repeat(1000), "goes on");
    const { headers } = greeting(ada, 0);
    const response = await fetchOf(server, { body: stream, headers: { ...headers } });
    expect(response.status).toBe(503);
    expect(read).toEqual({ bytes: 8000, isCancelled: true });
    expect((await fetchOf(server, greeting(ada, 6000))).status).toBe(200);
    await end();
  });

  test.each<Record<string, string>>([{}, { "content-length": "6000" }])(
    "are given back when a body does not come to its end: %j",
    async (length) => {
      const { ada, server } = await two({ bodiesBytes: 16_000, bodyMs: 5 });
      const { stream } = bodyOf(" ".repeat(6000), "hangs");
      const { headers } = greeting(ada, 0);
      const response = await fetchOf(server, { body: stream, headers: { ...headers, ...length } });
      expect(response.status).toBe(408);
      expect(await response.text()).toContain("came too slowly");
      configureLimits({ bodyMs: usual.bodyMs });
      expect((await fetchOf(server, greeting(ada, 6000))).status).toBe(200);
    },
  );

  /** What the byte stream of a request does that announces more than it has sent. */
  const announcing = (bytes: number, isByteStream: boolean) => {
    const read = { isCancelled: false };
    const cancel = () => void (read.isCancelled = true);
    const chunk = new Uint8Array(bytes).fill(32);
    const stream = isByteStream
      ? new ReadableStream({
          type: "bytes",
          start: (controller: ReadableByteStreamController) => controller.enqueue(chunk),
          cancel,
        })
      : new ReadableStream({ start: (controller) => controller.enqueue(chunk), cancel });
    return { read, stream };
  };

  test.each([
    [1, true],
    [5000, true],
    [1, false],
    [5000, false],
  ])(
    "are given back, and no more is read, where %i bytes come of a longer body (as bytes: %s)",
    async (bytes, isByteStream) => {
      // A short one is read as a whole, and dropped with its request.
      const { ada, server } = await two({ bodiesBytes: 16_000, bodyMs: 5, smallAnswer: 1000 });
      const { read, stream } = announcing(bytes, isByteStream);
      const { headers } = greeting(ada, 0);
      const sent = { body: stream, headers: { ...headers, "content-length": "6000" } };
      expect((await fetchOf(server, sent)).status).toBe(408);
      await expect.poll(() => read.isCancelled).toBe(true);
    },
  );

  test.each(["x", "-1", "-9000", "1e3", "0x10", "NaN", "Infinity", "1.5", "+5", "5, 5", "5 5"])(
    "are not counted, nor is the body read, by the length %j",
    async (length) => {
      const { ada, server } = await two({ bodiesBytes: 16_000 });
      for (const path of ["/mcp", "/tools/call", "/oauth/token", "/nope"]) {
        const { read, stream } = bodyOf("{");
        const headers = { ...greeting(ada, 0).headers, "content-length": length };
        const response = await fetchOf(server, { body: stream, headers, path });
        const status = path === "/nope" ? 404 : path === "/oauth/token" ? 404 : 400;
        expect({ path, status: response.status, read: read.bytes }).toEqual({
          path,
          status,
          read: 0,
        });
      }
      const both = await Promise.all([1, 2].map(() => fetchOf(server, waiting(ada, 6000))));
      expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 429]);
      for (const one of both) await one.text();
    },
  );

  // Of short ones workerd sees to it: framing.test.ts.
  test("of a body that is longer than it says are refused", async () => {
    const { ada, server } = await two({ bodiesBytes: 16_000, smallAnswer: 5 });
    const { stream } = bodyOf(" ".repeat(1000), "goes on");
    const headers = { ...greeting(ada, 0).headers, "content-length": "10" };
    const response = await fetchOf(server, { body: stream, headers });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("longer than its Content-Length");
  });

  test("of a body that ends before its length are refused as cut off", async () => {
    const { ada, server } = await two({ bodiesBytes: 16_000, smallAnswer: 5 });
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const stream = new ReadableStream({
      type: "bytes",
      start(controller) {
        controller.enqueue(new TextEncoder().encode(ping));
        controller.close();
      },
    });
    const headers = { ...greeting(ada, 0).headers, "content-length": String(ping.length + 9) };
    const response = await fetchOf(server, { body: stream, headers });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("cut off");
  });

  test("of a body that breaks off are given back", async () => {
    const { ada, server } = await two({ bodiesBytes: 16_000 });
    const { headers } = greeting(ada, 0);
    for (let at = 0; at < 4; at++) {
      const broken = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new Uint8Array(6000)),
        pull: (controller) => controller.error(new Error("Network connection lost.")),
      });
      expect((await fetchOf(server, { body: broken, headers: { ...headers } })).status).not.toBe(
        429,
      );
    }
    expect((await fetchOf(server, greeting(ada, 6000))).status).toBe(200);
  });

  test("of one /48 are those of one caller", async () => {
    configureLimits({ bodiesBytes: 16_000 });
    const server = createApp(new Kernel(bundle, env));
    const from = (address: string, sent: Sent) => {
      const { authorization: _none, ...headers } = sent.headers!;
      return fetchOf(server, { ...sent, headers: { ...headers, "cf-connecting-ip": address } });
    };
    const headers = { "cf-connecting-ip": "2001:db8:7:1::1" };
    const end = await hanging(server, { body: "", headers }, 6000);
    expect((await from("2001:db8:7:2::1", greeting("", 6000))).status).toBe(429);
    expect((await from("2001:db8:8:2::1", greeting("", 3000))).status).toBe(200);
    await end();
    expect((await from("2001:db8:7:2::1", greeting("", 6000))).status).toBe(200);
  });
});

describe("each route that reads a body counts it before it reads", () => {
  const json = { "content-type": "application/json" };
  const form = { "content-type": "application/x-www-form-urlencoded" };
  test.each([
    ["/mcp", "POST", json],
    ["/tools/call", "POST", json],
    ["/oauth/token", "POST", form],
    ["/token", "POST", form],
    ["/oauth/register", "POST", json],
    ["/register", "POST", json],
    ["/authorize", "POST", form],
    ["/ask/1", "POST", form],
    ["/secret/1", "POST", form],
    ["/connect/1", "POST", form],
    ["/account", "POST", form],
    ["/console/live", "POST", form],
    ["/console/operate", "POST", form],
    [SIGN_IN_PATH, "POST", form],
  ])("%s", async (path, method, type) => {
    const key = newId();
    const server = await serverOf(
      { [key]: { scopes: ["operator"] } },
      { LIMITS: '{"bodiesBytes":200}', OWNER_PASSPHRASE: await hashPassphrase(PASSPHRASE) },
    );
    const end = await other(server);
    const { read, stream } = bodyOf("{");
    const headers = {
      ...type,
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${key}`,
      "otc-api-key": key,
      "content-length": "150",
    };
    const response = await fetchOf(server, { body: stream, headers, method, path });
    expect({ path, status: response.status, read: read.bytes }).toEqual({
      path,
      status: 503,
      read: 0,
    });
    expect(response.headers.get("retry-after")).toBe("1");
    await end();
  });
});

test("a part that an operator sends passes through, and does not count", async () => {
  const key = newId();
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  const server = createApp(
    new Kernel(whole, {
      ...env,
      API_KEYS: JSON.stringify({
        [key]: { hash: new Uint8Array(hash).toHex(), scopes: ["operator"] },
      }),
      LIMITS: '{"bodiesBytes":200}',
      LOADER: env.TEST_LOADER,
    }),
  );
  const end = await other(server);
  const part = new TextEncoder().encode("part".repeat(10_000));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", part)).toHex();
  const headers = { authorization: `Bearer ${key}`, "content-length": `${part.length}` };
  const path = `/operator/part/${digest}`;
  const send = (length: string) =>
    fetchOf(server, {
      body: part,
      headers: { ...headers, "content-length": length },
      method: "PUT",
      path,
    });
  expect((await send(`${part.length}`)).status).toBe(204);
  for (const length of ["x", "-1", "1e3"]) expect((await send(length)).status).toBe(400);
  expect((await fetchOf(server, greeting(key, 6000))).status).toBe(503);
  await end();
});

describe("nothing is read", () => {
  const json = { "content-type": "application/json", accept: "application/json" };
  test.each([
    ["a path that does not exist", "/nope", "POST", 404],
    ["a path below /operator without a key", "/operator/servlet/hello", "PUT", 401],
    ["a method that a page does not have", "/ask/1", "PUT", 404],
    ["a method that MCP does not have", "/mcp", "PUT", 405],
    ["a method that Open Tool Calling does not have", "/tools/call", "PUT", 405],
    ["a caller without a key", "/mcp", "POST", 401],
    ["a caller of Open Tool Calling without a key", "/tools/call", "POST", 401],
    ["metadata", "/.well-known/oauth-authorization-server", "POST", 405],
  ])("of the body of %s", async (_what, path, method, status) => {
    const key = newId();
    const server = await serverOf(
      { [key]: {} },
      { OWNER_PASSPHRASE: await hashPassphrase(PASSPHRASE) },
    );
    const { read, stream } = bodyOf("{");
    const authorization: Record<string, string> =
      status === 405 ? { authorization: `Bearer ${key}`, "otc-api-key": key } : {};
    const headers = { ...json, ...authorization, "content-length": "4000000" };
    const response = await fetchOf(server, { body: stream, headers, method, path });
    expect({ status: response.status, read: read.bytes }).toEqual({ status, read: 0 });
  });

  test("of a long body at a path that does not exist, where its length is not announced", async () => {
    const server = await serverOf({ [newId()]: {} });
    const { read, stream } = bodyOf(" ".repeat(1000), "goes on");
    const response = await fetchOf(server, { body: stream, headers: json, path: "/nope" });
    expect(response.status).toBe(404);
    expect(read).toEqual({ bytes: 5000, isCancelled: true });
  });

  test("of what is beyond the number of requests at once, at a path that does not exist too", async () => {
    const server = await serverOf({ [newId()]: {} }, { LIMITS: '{"concurrentCalls":3}' });
    const all = Array.from({ length: 5 }, () => bodyOf("{", "hangs"));
    const headers = { ...json, "cf-connecting-ip": "192.0.2.9" };
    configureLimits({ bodyMs: 5 });
    const sent = all.map(({ stream }) => fetchOf(server, { body: stream, headers, path: "/nope" }));
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses).toEqual([404, 404, 404, 429, 429]);
    expect(all.map(({ read }) => read.bytes)).toEqual([1, 1, 1, 0, 0]);
  });
});
