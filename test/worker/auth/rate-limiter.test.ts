import { buffered, unreadOf } from "../../../src/server/kernel/http/unread.ts";
import { afterEach, describe, expect, test, vi } from "vitest";
import { RateLimiter } from "../../../src/server/kernel/auth/rate-limiter.ts";
import { streamResponse, textResponse } from "../../../src/server/kernel/http/body.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { storageQuota } from "../../../src/server/kernel/auth/quotas.ts";

const usual = { ...limits };
afterEach(() => configureLimits(usual));

const request = (signal?: AbortSignal) =>
  new Request("http://localhost/mcp", { ...(signal && { signal }) });
const stream = () => streamResponse(new ReadableStream());

test.each(["before its response begins", "while it is read"])(
  "a stream whose client leaves %s takes no place any more",
  async (when) => {
    configureLimits({ concurrentCalls: 1 });
    const rateLimiter = new RateLimiter({}, storageQuota({}));
    const client = new AbortController();
    const visit = rateLimiter.enter("ada", request(client.signal));
    expect(() => rateLimiter.enter("ada", request())).toThrow("Too many concurrent requests");
    if (when.startsWith("before")) client.abort();
    await visit.until(Promise.resolve(stream()));
    client.abort();
    const next = rateLimiter.enter("ada", request());
    await expect(next.until(Promise.reject(new Error("it failed")))).rejects.toThrow("it failed");
    rateLimiter.enter("ada", request());
  },
);

test("a request whose client leaves gives back its place at once where more than half of its caller's are taken", () => {
  configureLimits({ concurrentCalls: 4 });
  const rateLimiter = new RateLimiter({}, storageQuota({}));
  const clients = Array.from({ length: 4 }, () => new AbortController());
  for (const { signal } of clients) rateLimiter.enterUnwatched("ada", request(signal));
  expect(() => rateLimiter.enter("ada", request())).toThrow("Too many concurrent requests");
  for (const client of clients) client.abort();
  for (let at = 0; at < 2; at++) rateLimiter.enter("ada", request());
});

test("a request whose client leaves unnoticed counts no longer than a body may take", () => {
  configureLimits({ concurrentCalls: 4, bodiesBytes: 64_000 });
  const rateLimiter = new RateLimiter({}, storageQuota({}));
  const began = Date.now();
  for (let at = 0; at < 2; at++) rateLimiter.enterUnwatched("ada", request()).countBody(1000);
  const now = vi.spyOn(Date, "now").mockReturnValue(began + limits.bodyMs + 1000);
  try {
    const visits = Array.from({ length: 4 }, () => rateLimiter.enter("ada", request()));
    for (const visit of visits) visit.countBody(8000);
    expect(() => rateLimiter.enter("ada", request())).toThrow("Too many concurrent requests");
  } finally {
    now.mockRestore();
  }
});

test("a stream that is asked for by HEAD takes no place, and ends: nobody reads it", async () => {
  configureLimits({ concurrentCalls: 1 });
  const rateLimiter = new RateLimiter({}, storageQuota({}));
  const ended = Promise.withResolvers<string>();
  const body = new ReadableStream({ cancel: () => ended.resolve("ended") });
  const answer = streamResponse(body);
  const visit = rateLimiter.enter("ada", new Request("http://localhost/", { method: "HEAD" }));
  expect((await visit.until(Promise.resolve(answer))).status).toBe(200);
  expect(await ended.promise).toBe("ended");
  rateLimiter.enter("ada", request());
});

describe("a large answer that its client does not read", () => {
  const large = async () => textResponse("x".repeat(300_000), { status: 200 });
  const answerTo = (rateLimiter: RateLimiter, caller: string) =>
    rateLimiter.enter(caller, request()).until(large());

  test("counts until it is read; its caller is refused above half of the room, and others are not", async () => {
    configureLimits({ unreadBytes: 800_000 + unreadOf() });
    const rateLimiter = new RateLimiter({}, storageQuota({}));
    const first = await answerTo(rateLimiter, "ada");
    const second = await answerTo(rateLimiter, "ada");
    expect(() => rateLimiter.enter("ada", request())).toThrow("not read yet");
    rateLimiter.enter("bob", request());
    expect([await first.text(), await second.text()]).toEqual(Array(2).fill("x".repeat(300_000)));
    rateLimiter.enter("ada", request());
  });

  test("is dropped where its request was let in before the answers that fill the room", async () => {
    configureLimits({ unreadBytes: 800_000 + unreadOf() });
    const rateLimiter = new RateLimiter({}, storageQuota({}));
    const visits = Array.from({ length: 10 }, () => rateLimiter.enter("ada", request()));
    const other = rateLimiter.enter("bob", request());
    const answers = await Promise.allSettled(visits.map((visit) => visit.until(large())));
    const kept = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    expect(kept.length).toBe(2);
    for (const answer of answers.slice(kept.length)) {
      const reason = { code: "too_many", message: expect.stringContaining("was carried out") };
      expect(answer).toMatchObject({ status: "rejected", reason });
    }
    await (await other.until(large())).text();
    for (const answer of kept) await answer.text();
    await (await answerTo(rateLimiter, "ada")).text();
  });

  test("does not count where it is asked for by HEAD", async () => {
    configureLimits({ unreadBytes: 200_000 + unreadOf() });
    const rateLimiter = new RateLimiter({}, storageQuota({}));
    const visit = rateLimiter.enter("ada", new Request("http://localhost/", { method: "HEAD" }));
    expect((await visit.until(large())).body).toBe(null);
    rateLimiter.enter("ada", request());
  });

  test("is broken off after a while", async () => {
    configureLimits({ unreadBytes: 200_000 + unreadOf(), bodyMs: 50 });
    const rateLimiter = new RateLimiter({}, storageQuota({}));
    const answer = await answerTo(rateLimiter, "ada");
    await expect
      .poll(() => rateLimiter.enter("ada", request()) && "let in", { timeout: 30_000 })
      .toBe("let in");
    await expect(answer.text()).rejects.toThrow();
  });
});

describe("an event stream", () => {
  /** A stream of bytes that `write` writes to, as its client is sent it. */
  async function streamed(caller: string) {
    let controller!: ReadableByteStreamController;
    const cancelled = Promise.withResolvers<unknown>();
    const body = new ReadableStream({
      type: "bytes",
      start: (one) => void (controller = one),
      cancel: cancelled.resolve,
    });
    const answer = streamResponse(body);
    const rateLimiter = new RateLimiter({}, storageQuota({}));
    const response = await rateLimiter.enter(caller, request()).until(Promise.resolve(answer));
    const write = (bytes: number) => controller.enqueue(new Uint8Array(bytes).fill(1));
    const isOver = () => {
      configureLimits({ concurrentCalls: 1 });
      rateLimiter.enter(caller, request());
    };
    return { response, controller, write, cancelled: cancelled.promise, isOver };
  }

  test("is whole, in whatever pieces it is written and read", async () => {
    const { response, controller, write, isOver } = await streamed("ada");
    let length = 0;
    for (const bytes of [1, 4096, 16_384, 65_536, 262_144, 1_000_000, 1, 86_016, 5]) {
      write(bytes);
      length += bytes;
    }
    controller.close();
    expect((await response.bytes()).length).toBe(length);
    isOver();
  });

  test("that fails midway fails for its client, and is over", async () => {
    const { response, controller, write, isOver } = await streamed("ada");
    const reader = response.body!.getReader();
    write(10);
    expect((await reader.read()).value?.length).toBe(10);
    const next = reader.read();
    controller.error(new Error("its object has died"));
    await expect(next).rejects.toThrow("its object has died");
    isOver();
  });

  test("that its client cancels while it waits for a piece is cancelled, and over", async () => {
    const { response, cancelled, isOver } = await streamed("ada");
    const reader = response.body!.getReader();
    const next = reader.read();
    await reader.cancel("enough");
    expect((await next).done).toBe(true);
    expect(await cancelled).toBe("enough");
    isOver();
  });

  test("is read into a large buffer only while its caller's others leave room for one", async () => {
    const ada = crypto.randomUUID();
    configureLimits({ unreadBytes: 2_000_000 + unreadOf(undefined, buffered) });
    const readers = [];
    for (let nth = 0; nth < 10; nth++) {
      const { response, write } = await streamed(ada);
      const reader = response.body!.getReader();
      readers.push(reader);
      // Each fills the buffer that waits for it, so that the next one is larger.
      for (const bytes of [4096, 16_384, 65_536]) {
        write(bytes);
        for (let read = 0; read < bytes;) read += (await reader.read()).value!.length;
      }
      void reader.read();
      expect(unreadOf(ada, buffered)).toBeLessThanOrEqual(1_000_000);
    }
    expect(unreadOf(ada, buffered)).toBeGreaterThan(500_000);
    await Promise.all(readers.map((reader) => reader.cancel()));
    expect(unreadOf(ada, buffered)).toBe(0);
  });
});
