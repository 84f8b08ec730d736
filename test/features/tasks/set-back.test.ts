import { expect, test } from "vitest";
import { dated } from "../../../src/server/kernel/asks/answers.ts";
import { startDeadlines } from "../../../src/server/features/tasks/task-call.ts";
import type { TaskStore } from "../../../src/server/features/tasks/task-store.ts";
import type { WaitReason } from "../../../src/server/kernel/core/suspension.ts";
import { prepare } from "../../worker/calls/client.ts";
import { HOUR } from "../../worker/calls/plans.ts";

/** A clock that is set back by hours. */
prepare();

test("deadlines that begin before the others were put forward are of the same clock", async () => {
  const planned = Date.now() + 10 * HOUR;
  const asks = { ask_1: { method: "elicitation/create", params: {}, timeoutMs: HOUR } } as const;
  let waits: WaitReason = { kind: "input", asks, given: {} } as unknown as WaitReason;
  const store = {
    row: { planned },
    isOver: false,
    waits: async () => waits,
    wait: async (next: WaitReason) => void (waits = next),
  };
  await startDeadlines(store as unknown as TaskStore, asks);
  expect(waits).toMatchObject({ asks: dated(asks, planned) });
});
