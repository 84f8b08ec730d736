import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { Connection } from "../../../src/server/kernel/http/connection.ts";
import { usageKey } from "../../../src/server/kernel/core/callers.ts";
import { unreadOf } from "../../../src/server/kernel/http/unread.ts";
import { prepare } from "../calls/client.ts";
import { prepareHubs } from "../mcp/hub-client.ts";
import { modern } from "../server.ts";
import { serverOf, type Server } from "./key-holders.ts";
import { limitTo, roomForUnread } from "../unread-room.ts";

/** What clients do not read is counted for them, however it is sent. */

const usual = { ...limits };
afterEach(() => {
  vi.restoreAllMocks();
  configureLimits(usual);
});
prepare();
prepareHubs();

roomForUnread();

const LONG = "x".repeat(300_000);

/** Calls a tool, for its answer as an event stream. */
async function calling(
  server: Server,
  key: string,
  params: Record<string, unknown>,
  signal?: AbortSignal,
): Promise<Response> {
  const meta = { "io.modelcontextprotocol/logLevel": "debug" };
  const { body, headers } = modern("tools/call", params, meta);
  const accept = "text/event-stream";
  const call = new Request("http://localhost:8787/mcp", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept,
      authorization: `Bearer ${key}`,
      ...headers,
    },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
  return server.fetch(call);
}

describe("an answer as an event stream that its client does not read", () => {
  let [ada, bob] = ["", ""];
  let server: Server;
  beforeEach(async () => {
    [ada, bob] = [crypto.randomUUID(), crypto.randomUUID()];
    server = await serverOf({ [ada]: {}, [bob]: {} });
    limitTo(800_000);
  });

  /** Calls a tool whose answer is as long as its argument. */
  const call = (key: string, name = LONG, signal?: AbortSignal) =>
    calling(server, key, { name: "greet", arguments: { name } }, signal);

  /** Waits until an answer is complete, and counted for its caller. */
  const counted = (key: string, bytes: number) =>
    expect.poll(() => unreadOf(usageKey(key))).toBeGreaterThan(bytes);

  test("counts until it is read; its caller is refused above half of the room, and others are not", async () => {
    const answers = [await call(ada), await call(ada)];
    await counted(ada, 2 * LONG.length - 2 * limits.smallAnswer);
    const refused = await call(ada, "Ada");
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await refused.text()).toContain("not read yet");
    expect((await call(bob, "Bob")).status).toBe(200);
    for (const answer of answers) expect(await answer.text()).toContain(LONG);
    expect(unreadOf(usageKey(ada))).toBe(0);
    expect((await call(ada, "Ada")).status).toBe(200);
  });

  test("is an error where its request was let in before those that fill the room", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => call(ada)));
    const readers = answers.map((answer) =>
      answer.body!.pipeThrough(new TextDecoderStream()).getReader(),
    );
    const texts = readers.map(() => "");
    const read = async (reader: ReadableStreamDefaultReader<string>, at: number) => {
      const { value, done } = await reader.read();
      texts[at] += value ?? "";
      return !done;
    };
    // The beginning of each, so that all are complete before the rest is read.
    await Promise.all(
      readers.map(async (reader, at) => {
        while (!texts[at]!.includes("data: ")) await read(reader, at);
      }),
    );
    for (const [at, reader] of readers.entries()) while (await read(reader, at));
    expect(texts.filter((text) => text.includes(LONG)).length).toBe(2);
    const dropped = texts.filter((text) => !text.includes(LONG));
    for (const text of dropped)
      expect(text).toMatch(/"id":1,"error":.*was dropped.*The request was carried out/);
    expect(unreadOf(usageKey(ada))).toBe(0);
  });

  test("is whole for a caller who leaves nothing unread, though others leave no room at all", async () => {
    const others = [1, 2, 3].map(
      () => new Connection({ caller: crypto.randomUUID(), onOver: () => {} }),
    );
    for (const other of others) other.writeAny(LONG);
    const answer = await call(bob);
    await counted(bob, 100);
    expect(await answer.text()).toContain(LONG);
    for (const other of others) other.fail("The end.");
  });

  test.each(["cancels it", "leaves"])("counts no more once its client %s", async (how) => {
    const client = new AbortController();
    const answers = [await call(ada, LONG, client.signal), await call(ada, LONG, client.signal)];
    await counted(ada, 2 * LONG.length - 2 * limits.smallAnswer);
    if (how === "leaves") client.abort();
    else for (const answer of answers) await answer.body?.cancel();
    await expect.poll(() => unreadOf(usageKey(ada))).toBe(0);
    expect((await call(ada, "Ada")).status).toBe(200);
  });

  test("is handed on in few pieces", async () => {
    let pieces = 0;
    for await (const _piece of (await call(ada)).body!) pieces++;
    expect(pieces).toBeLessThan(20);
  });

  test("is broken off after a while", async () => {
    configureLimits({ bodyMs: 50 });
    const connection = new Connection({ caller: ada, onOver: () => {} });
    connection.writeAny(LONG);
    connection.close();
    expect(unreadOf(usageKey(ada))).toBeGreaterThan(LONG.length);
    await expect.poll(() => unreadOf(usageKey(ada))).toBe(0);
    await expect(connection.body.getReader().read()).rejects.toThrow("does not read");
  });
});

test("a stream that has ended counts what its client has not read, also of the piece that it is reading", async () => {
  const caller = crypto.randomUUID();
  const connection = new Connection({ caller, onOver: () => {} });
  const reader = connection.body.getReader({ mode: "byob" });
  const read = async () => {
    const { value, done } = await reader.read(new Uint8Array(1000));
    return done ? undefined : value!.length;
  };
  let length = (await read())!;
  const next = read();
  connection.writeAny(LONG);
  connection.close();
  length += (await next)!;
  while (length < LONG.length - 1000) {
    expect(unreadOf(caller)).toBeGreaterThanOrEqual(LONG.length - length);
    length += (await read())!;
  }
  while ((await read()) !== undefined);
  expect(unreadOf(caller)).toBe(0);
});

test("a call that sends more than its client could read meanwhile has its reply, without the rest", async () => {
  const key = crypto.randomUUID();
  const server = await serverOf({ [key]: {} });
  limitTo(800_000);
  const response = await calling(server, key, { name: "hoard-notify", arguments: {} });
  const text = await response.text();
  expect(text.length).toBeLessThan(10_000_000);
  expect(text.slice(-600)).toContain("was stopped");
});

test("a stream on which little waits goes on, whatever its caller leaves on others", async () => {
  const caller = crypto.randomUUID();
  const connection = () => new Connection({ caller, onOver: () => {} });
  const [unread, one, other] = [connection(), connection(), connection()];
  limitTo(800_000);
  for (const long of [LONG, LONG]) unread.write(long);
  for (const short of ["first", "second"]) one.write(short);
  one.close();
  for (const slow of [other, unread]) slow.write(LONG);
  for (const slow of [unread, other])
    await expect(slow.body.getReader().read()).rejects.toThrow("too slowly");
  expect(await new Response(one.body).text()).toContain("firstsecond");
  expect(unreadOf(usageKey(caller))).toBe(0);
});
