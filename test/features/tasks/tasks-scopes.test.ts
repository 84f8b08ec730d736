import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { tasksOf } from "../../../src/server/features/tasks/tasks.ts";
import { accept, prepare } from "../../worker/calls/client.ts";
import { ELICIT, saidIn } from "../../worker/calls/plans.ts";
import { planned, until } from "../../worker/calls/task-steps.ts";

/** Whose token has become narrower since a task was made is held to what it may do now. */
prepare();

const by = (...scopes: string[]) => tasksOf(env)!({ name: "anonymous", scopes }, async () => {});
const ENOUGH = by("durable:*", "conformance:*");
const TOO_LITTLE = by("hello:*");

describe("a task whose tool its caller may call no more", () => {
  test("is not there for it, whether it goes on or is over", async () => {
    const id = await planned(ELICIT);
    await until(id, "input_required");
    const answers = { ask_1: { result: accept("Ada") } };
    expect(await TOO_LITTLE.get(id)).toBeUndefined();
    expect(await TOO_LITTLE.update(id, answers)).toBeUndefined();
    expect(await ENOUGH.get(id)).toMatchObject({ status: "input_required" });
    expect(await ENOUGH.update(id, answers)).toEqual({});
    expect(saidIn(await until(id, "completed"))).toEqual(["Ada"]);
    expect(await TOO_LITTLE.get(id)).toBeUndefined();
    expect(await ENOUGH.get(id)).toMatchObject({ status: "completed" });
  });
});
