import { loadedRunner } from "../../../src/server/kernel/servlets/runners.ts";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { replayRecord } from "../../../src/server/features/tasks/task-replay.ts";
import { deploymentOf, readSettings } from "../../../src/server/kernel/settings/env.ts";
import type { PreparedServlet } from "../../../src/server/kernel/servlets/bundle.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { nobodysCall } from "../../../src/server/kernel/servlets/servlet.ts";
import { Suspended, Wait } from "../../../src/server/kernel/core/suspension.ts";
import { bundle } from "../../bundle.gen.ts";
import { ELICIT, steps } from "../../worker/calls/plans.ts";

/** Calls that are run again where they can do nothing. */

test("a replay asks no servlet for its lists: each time that would do what servlets do for them", async () => {
  const durable = bundle.servlets.find(({ name }) => name === "durable")!;
  const { module: _, lists: __, ...bare } = durable;
  const other: PreparedServlet = { ...bare, name: "other", hash: "0".repeat(64) };
  let asked = 0;
  const runLoaded = async () => {
    asked++;
    return { kind: "refused" as const, message: "no lists" };
  };
  const deployment = {
    ...deploymentOf(readSettings({}), env),
    runners: [loadedRunner(runLoaded)],
    log: () => {},
  };
  const registry = new Registry({ servlets: [durable, other] }, deployment);
  const call = {
    ...nobodysCall,
    ref: { kind: "tool", name: "plan", input: steps(ELICIT) } as const,
  };
  const ask = () => Promise.reject(new Wait({ kind: "task" }));
  const began = await (await registry.resolve(call.ref)).run({ ...nobodysCall, ask });
  expect(began).toBeInstanceOf(Suspended);
  const { recorded } = began as Suspended;
  const listed = asked;
  expect(listed).toBeGreaterThan(0);
  const { end } = await replayRecord(call, recorded!, { registry });
  expect(end).toMatch(/^It would ask you "Who\?"/);
  expect(asked).toBe(listed);
});
