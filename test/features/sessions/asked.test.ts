import { expect, test } from "vitest";
import { asked } from "../../worker/index.ts";
import { prepare } from "../../worker/calls/client.ts";
import { begin as beginSession, listened } from "../../worker/mcp/legacy/session-steps.ts";
import { from, sharedObjects } from "../../worker/shared-objects.ts";

/** Which objects that callers share are asked. */
prepare();
const shared = sharedObjects();

test("a session that listens asks one hub of anonymous callers, which asks one hub of all", async () => {
  const events = await listened(await beginSession(from()));
  const hubs = shared().filter((one) => one.startsWith("Hub"));
  expect(hubs.filter((one) => one === "Hub: anonymous N").length).toBeLessThanOrEqual(1);
  expect(hubs.every((one) => ["Hub: anonymous N", "Hub: all hubs N"].includes(one))).toBe(true);
  await events.drop();
});

test("anonymous callers of different networks have different hubs", async () => {
  const streams = [];
  for (let n = 0; n < 20; n++) streams.push(await listened(await beginSession(from())));
  const hubs = new Set(asked.filter((one) => one.startsWith("Hub: anonymous")));
  expect(hubs.size).toBeGreaterThan(5);
  for (const stream of streams) await stream.drop();
});
