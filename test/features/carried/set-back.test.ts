import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { clock, prepare } from "../../worker/calls/client.ts";
import { HOUR } from "../../worker/calls/plans.ts";

/** A clock that is set back by hours. */
prepare();

const name = () => crypto.randomUUID();

test("a request that may still be sending is awaited no longer than it may take", async () => {
  const states = env.STATES!.getByName(name());
  clock.aheadMs = 10 * HOUR;
  const head = { version: 1, hash: "", input: "", seed: "00", time: 0 };
  const unstored = { answers: [], inner: [] };
  const until = Date.now() + 20 * HOUR;
  const of = { position: 0, key: "k", place: undefined, until, begun: { head }, unstored };
  await states.intend("one", of);
  clock.aheadMs = 0;
  expect(await states.takeOver("two")).toEqual({ busyMs: limits.sendingMs });
  clock.aheadMs = limits.sendingMs + 1;
  expect(await states.takeOver("three")).toMatchObject({ kind: "earlier" });
});
