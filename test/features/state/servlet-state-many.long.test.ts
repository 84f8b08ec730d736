import { expect, onTestFinished, test, vi } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import type { Json } from "../../../src/server/kernel/core/model.ts";
import { newAddress, send, type Sent } from "../../worker/calls/client.ts";

/** Servlets that keep state for more callers than an isolate has memory for. */

async function call(name: string, args: Json, sent: Sent): Promise<string> {
  const { result, error } = await send("tools/call", { name, arguments: args }, sent);
  return error?.message ?? (result!["content"] as { text: string }[])[0]!.text;
}

test.each([4_000_000, 40_000])(
  "callers whose instances do not fit into %i bytes share them, and none sees what is another's",
  async (keptInstanceBytes) => {
    const before = limits.keptInstanceBytes;
    onTestFinished(() => configureLimits({ keptInstanceBytes: before }));
    configureLimits({ keptInstanceBytes });
    vi.spyOn(console, "error").mockImplementation(() => {});
    const callers = Array.from({ length: 8 }, () => ({
      headers: { "cf-connecting-ip": newAddress() },
    }));
    for (let turn = 1; turn <= 4; turn++) {
      for (const [at, caller] of callers.entries()) {
        expect(await call("counting-next", {}, caller)).toBe(String(turn));
        // Some grow their memory beyond the others', some beyond what is known of it, and some fail.
        if (at % 4 === 1) await call("keeping-grow", { megabytes: turn === 1 ? 1 : 0 }, caller);
        if (at === 2 && turn === 2) await call("keeping-grow", { megabytes: 3 }, caller);
        if (at % 4 === 3) await call("keeping-count_then_trap", {}, caller);
        expect(await call("keeping-count", {}, caller)).toBe(JSON.stringify({ calls: turn }));
        const value = `of ${at}`.repeat(1 + at * 300);
        if (turn === 1) await call("keeping-remember", { key: `key ${at}`, value }, caller);
        const other = { key: `key ${(at + 1) % callers.length}` };
        expect(JSON.parse(await call("keeping-recall", other, caller))).toEqual({ value: null });
        const own = await call("keeping-recall", { key: `key ${at}` }, caller);
        expect(JSON.parse(own)).toEqual({ value });
      }
    }
  },
  180_000,
);
