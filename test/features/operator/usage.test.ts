/// <reference types="@cloudflare/vitest-plugin/types" />
// @module-tag usage
// @module-tag state
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { usageOf } from "../../../src/server/features/usage/usage.ts";
import { newCaller, operate } from "../../worker/operator/client.ts";
import { eventually } from "../../worker/waiting.ts";

/** What is counted of the state of servlets. */

describe("what servlets keep", () => {
  test("is known by servlet and caller, and goes when it is deleted", async () => {
    const [caller, later] = [newCaller(), newCaller()];
    // The call that was to send the counters is stopped: a later one sends them.
    await later.next();
    await abortAllDurableObjects();
    const bytesOf = async (by: "servlet" | "caller", name: string) => {
      await later.next();
      const { named } = await usageOf(env)!().report("hour", by);
      return named.find((one) => one.name === name)?.bytes ?? 0;
    };
    await caller.file("fill", { path: "/data/big", text: "2" });
    const ofCaller = () => bytesOf("caller", `address ${caller.address}`);
    await eventually(async () => expect(await ofCaller()).toBeGreaterThan(2_000_000));
    expect(await bytesOf("servlet", "filing")).toBeGreaterThan(2_000_000);
    await operate(`state/filing?${caller.scope}`, { method: "DELETE" });
    await eventually(async () => expect(await ofCaller()).toBe(0));
  });
});
