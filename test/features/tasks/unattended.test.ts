import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { unattendedRuns } from "../../../src/server/features/tasks/unattended.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import type { TaskCall, TasksOf } from "../../../src/server/kernel/calls/task-object.ts";
import { bundle } from "../../bundle.gen.ts";

/** Runs that no client waits for. */

test.each([
  ["on", { link: { origin: "https://here.example", isTyped: false } }],
  ["off", {}],
])("with LINKS %s, a run has this link to the pages: %j", async (LINKS, link) => {
  const kernel = new Kernel(bundle, { ...env, LINKS });
  const created: TaskCall[] = [];
  const create = async (call: TaskCall) => void created.push(call);
  const tasks = (() => ({ create })) as unknown as TasksOf;
  await unattendedRuns(tasks, kernel)!.begin({
    id: "1",
    principal: { name: "servlet:waking" },
    meta: {},
    origin: "https://here.example",
    ref: { kind: "schedule", name: "waking", input: {} },
  });
  const { link: given } = created[0]!;
  expect({ ...(given && { link: given }) }).toEqual(link);
});
