import { describe, expect, test, vi } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { ANONYMOUS } from "../../../src/server/kernel/core/model.ts";
import { Answering, type Reply } from "../../../src/server/kernel/mcp/wire/reply.ts";

const leaving = () => new AbortController().signal;

describe("a client that leaves its stream before the call waits", () => {
  test("has left for all that begins to wait later, and is shown no signs of life", async () => {
    const timers = vi.spyOn(globalThis, "setInterval");
    const accepts = { json: false, sse: true };
    const answering = new Answering({ accepts, leaving, principal: ANONYMOUS });
    const reply = Promise.withResolvers<Reply>();
    const response = await answering.response(reply.promise);
    await response.body!.cancel();
    expect(answering.signal().aborted).toBe(true);
    expect(timers.mock.calls.filter(([, ms]) => ms === limits.keepAliveMs)).toEqual([]);
    reply.resolve({ status: 200, body: "{}" });
  });
});
