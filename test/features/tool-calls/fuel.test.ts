// @module-tag tasks
import { expect, test, vi } from "vitest";
import { limited, prepare, type Json } from "../../worker/calls/client.ts";
import { http, saidIn, steps } from "../../worker/calls/plans.ts";
import { busyTurns, planned, until } from "../../worker/calls/task-steps.ts";

/** The fuel that a task and the tools that it calls share. */
prepare();

const many = (step: Json) => Array.from({ length: 60 }, () => step);
test("a tool that is called, and computes between waits of which each is short, is stopped", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
    await scheduler.wait(2);
    return new Response("there");
  });
  // A run of the tool that has waited for so long is repeated, from where the tool was.
  limited({ guestFuel: 60e6, callTanks: 1, waitMs: 1000, httpMs: 1000 });
  const inside = { tool: "plan_never", args: steps(...many(http("GET", "/")).slice(0, 30)) };
  const { result } = await until(await planned({ do: "call", calls: [inside] }), "completed");
  // Of what is left, it gets a part.
  expect(JSON.stringify(result)).toMatch(/computed for too long/);
});

test(
  "nor do those that find the state of a tool in use that they call",
  { tags: ["state"] },
  async () => {
    limited({ shortageMs: 5, callTanks: 1 });
    const asked = busyTurns(8);
    const inside = { tool: "counting-next", args: {} };
    const { result } = await until(await planned({ do: "call", calls: [inside] }), "completed");
    expect(asked()).toBeGreaterThan(8);
    expect(saidIn({ result })).toEqual([[expect.anything()]]);
  },
);
