import { expect, test, vi } from "vitest";
import { Registry } from "../../../../src/servlets/registry.ts";
import { eventually } from "../../waiting.ts";
import { ABLE, prepare } from "../../calls/client.ts";
import { pause } from "../../calls/faults.ts";
import { steps } from "../../calls/plans.ts";
import { begin } from "./session-steps.ts";

prepare();

test.each([{}, { task: {} }])(
  "a session that ends before its call has begun is no fault of the server: %j",
  async (more) => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const gate = { isOpen: false, waiting: 0, passed: 0 };
    const { resolve } = Registry.prototype;
    vi.spyOn(Registry.prototype, "resolve").mockImplementation(async function (
      this: Registry,
      ...args
    ) {
      gate.waiting++;
      while (!gate.isOpen) await pause();
      gate.passed++;
      return resolve.apply(this, args);
    });
    const client = await begin({ capabilities: { ...ABLE, tasks: {} } });
    const call = client.call("plan_always", steps(), more);
    await eventually(() => expect(gate.waiting).toBe(1));
    await client.end();
    await (await call).text();
    gate.isOpen = true;
    await eventually(() => expect(gate.passed).toBe(1));
    for (let nth = 0; nth < 20; nth++) await pause();
    expect(error.mock.calls).toEqual([]);
  },
);
