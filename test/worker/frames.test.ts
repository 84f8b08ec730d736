import { expect, test } from "vitest";
import { Guest } from "../../src/server/kernel/wasm/guest.ts";
import { modern, post } from "./server.ts";

/** The functions of ours that wait while a guest begins, innermost first. */
async function framesOf(request: () => Promise<Response>): Promise<string[]> {
  const own = Guest.prototype.setInput;
  const { stackTraceLimit } = Error;
  let stack = "";
  Error.stackTraceLimit = 100;
  Guest.prototype.setInput = function (text) {
    stack = String(new Error("here").stack);
    return own.call(this, text);
  };
  try {
    await request();
  } finally {
    Guest.prototype.setInput = own;
    Error.stackTraceLimit = stackTraceLimit;
  }
  return stack.split("\n").filter((line) => line.includes("/src/"));
}

test("few functions wait for a plain call, and none of them twice", async () => {
  const { body, headers } = modern("tools/call", { name: "greet", arguments: { name: "Ada" } });
  const call = () => post(body, headers);
  // The second call has an instance at once.
  await call();
  const frames = await framesOf(call);
  expect(frames.at(0)).toContain("/kernel/wasm/call.ts");
  expect(frames.at(-1)).toContain("/kernel/mcp/wire/reply.ts");
  expect(frames.length).toBeLessThanOrEqual(9);
  expect(new Set(frames.map((frame) => frame.replace(/:\d+:\d+\)?$/, ""))).size).toBe(
    frames.length,
  );
});
