import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { bundle, serverOf } from "./key-holders.ts";
import {
  bodyOf,
  call,
  fetchOf,
  greeting,
  hanging,
  JSON_TYPE,
  other,
  REFUSED,
  sentBeyondRoom,
  sentUnread,
  waiting,
  type Sent,
} from "./sent-bodies.ts";

/** How many bytes of bodies the server holds at once, and for how long. */

const usual = { ...limits };
afterEach(() => configureLimits(usual));

const newId = () => crypto.randomUUID();

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
      for (const path of ["/mcp", "/oauth/token", "/nope"]) {
        const { read, stream } = bodyOf("{");
        const headers = { ...greeting(ada, 0).headers, "content-length": length };
        const response = await fetchOf(server, { body: stream, headers, path });
        const status = path === "/mcp" ? 400 : 404;
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

test("the endpoint counts a body before it reads it", async () => {
  expect(await sentBeyondRoom("/mcp", JSON_TYPE)).toEqual(REFUSED);
});

describe("nothing is read", () => {
  const json = { "content-type": "application/json", accept: "application/json" };
  test.each([
    ["a path that does not exist", "/nope", "POST", 404],
    ["a method that MCP does not have", "/mcp", "PUT", 405],
    ["a caller without a key", "/mcp", "POST", 401],
  ])("of the body of %s", async (_what, path, method, status) => {
    expect(await sentUnread(path, method, { isKnown: status === 405 })).toEqual({
      status,
      read: 0,
    });
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
