import { afterEach, expect, test } from "vitest";
import { Gatekeeper } from "../../../src/auth/gatekeeper.ts";
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
    const gatekeeper = new Gatekeeper({});
    const client = new AbortController();
    await gatekeeper.serve("ada", request(client.signal), async () => {
      if (when.startsWith("before")) client.abort();
      return stream();
    });
    client.abort();
    const next = await gatekeeper.serve("ada", request(), async () => new Response("served"));
    expect(await next.text()).toBe("served");
  },
);
