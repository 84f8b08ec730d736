import { afterEach, expect, test } from "vitest";
import { RateLimiter } from "../../../src/auth/rate-limiter.ts";
import { configureLimits, limits } from "../../../src/limits.ts";

const { concurrentCalls } = limits;
afterEach(() => configureLimits({ concurrentCalls }));

const request = (signal?: AbortSignal) =>
  new Request("http://localhost/mcp", { ...(signal && { signal }) });
const stream = () =>
  new Response(new ReadableStream(), { headers: { "content-type": "text/event-stream" } });

test.each(["before its response begins", "while it is read"])(
  "a stream whose client leaves %s takes no place any more",
  async (when) => {
    configureLimits({ concurrentCalls: 1 });
    const rateLimiter = new RateLimiter({});
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

test("a stream that is asked for by HEAD takes no place, and ends: nobody reads it", async () => {
  configureLimits({ concurrentCalls: 1 });
  const rateLimiter = new RateLimiter({});
  const ended = Promise.withResolvers<string>();
  const body = new ReadableStream({ cancel: () => ended.resolve("ended") });
  const answer = new Response(body, { headers: { "content-type": "text/event-stream" } });
  const visit = rateLimiter.enter("ada", new Request("http://localhost/", { method: "HEAD" }));
  expect((await visit.until(Promise.resolve(answer))).status).toBe(200);
  expect(await ended.promise).toBe("ended");
  rateLimiter.enter("ada", request());
});
