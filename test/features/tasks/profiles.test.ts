import { describe, expect, test } from "vitest";
import {
  ABLE,
  accept,
  callOf,
  prepare,
  refused,
  send,
  type Sent,
  TASKS,
} from "../../worker/calls/client.ts";
import { ELICIT, saidIn, steps } from "../../worker/calls/plans.ts";
import { at, profiled } from "../../worker/profiles.ts";

/** Tasks at the endpoint of a profile. */
prepare();

const server = profiled();
const support: Sent = { server: at("support", server) };
const plans: Sent = { server: at("plans", server) };
const whole: Sent = { server };

describe("a pinned argument", () => {
  test("is given to each run of a task", async () => {
    const sent = { ...support, capabilities: { ...ABLE, ...TASKS } };
    const { taskId } = (await callOf("plan_required", {}, sent)).result!;
    const view = async () => (await send("tasks/get", { taskId }, sent)).result!;
    await expect.poll(async () => (await view())["inputRequests"]).toMatchObject({ ask_1: {} });
    const inputResponses = { ask_1: accept("Bob") };
    expect(await send("tasks/update", { taskId, inputResponses }, sent)).toMatchObject({
      result: {},
    });
    await expect.poll(async () => (await view())["status"]).toBe("completed");
    expect(saidIn(await view())).toEqual(["Bob"]);
  });
});

describe("what began at one endpoint is at no other", () => {
  test("a task", async () => {
    const able = { capabilities: { ...ABLE, ...TASKS } };
    const begun = await callOf("plan_always", steps(ELICIT), { ...support, ...able });
    const { taskId } = begun.result!;
    for (const elsewhere of [plans, whole]) {
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
        const params = { taskId, inputResponses: {} };
        const answer = await send(method, params, { ...elsewhere, ...able });
        expect(answer).toMatchObject(refused(/Unknown task/));
      }
    }
    const there = await send("tasks/get", { taskId }, { ...support, ...able });
    expect(there.result).toMatchObject({ taskId });
    expect(there.result!["status"]).not.toBe("cancelled");
  });
});
