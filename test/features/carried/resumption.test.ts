import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { StoredResumption } from "../../../src/server/features/carried/resumption.ts";

/** What the requests that resume one call record of what they send. */

const HEAD = { version: 1, hash: "", input: "", seed: "", time: 0 };

/** Makes requests that resume the same call. */
function attempts() {
  const states = env.STATES!.get(env.STATES!.newUniqueId());
  return () =>
    new StoredResumption(
      {
        name: async () => "state and answers",
        until: Date.now() + 60_000,
        recorded: undefined,
        countStored: async () => {},
      },
      async () => states,
    );
}

test("a request that was recorded but not sent, as its client left meanwhile, may be sent by a retry", async () => {
  const attempt = attempts();
  const left = attempt();
  await left.begin(HEAD);
  const sending = left.intend(0, "key", "once");
  void left.release();
  await expect(sending).rejects.toMatchObject({ code: "cancelled" });
  const retry = attempt();
  expect((await retry.earlier())?.kind).toBe("earlier");
  expect(await retry.intend(0, "key", "once")).toBe(false);
  // Now it is sent.
  await retry.release();
  const second = attempt();
  await second.earlier();
  const again = second.intend(0, "key", "once");
  void second.release();
  await expect(again).rejects.toMatchObject({ code: "cancelled" });
  const third = attempt();
  await third.earlier();
  expect(await third.intend(0, "key", "once")).toBe(true);
  await third.release();
});

test("a task that the call becomes knows what calls inside may have sent", async () => {
  const first = attempts()();
  await first.begin(HEAD);
  await first.begin(HEAD, "0.1");
  await first.intend(0, "key", "once", "0.1");
  await first.release();
  const { recorded } = await first.task("task");
  const [, inside] = recorded!.inner!.calls;
  expect(inside!.recorded).toMatchObject({ head: HEAD, intents: [{ position: 0, key: "key" }] });
});

test("a request sends nothing more once its call has become a task", async () => {
  const attempt = attempts();
  const [late, promoting] = [attempt(), attempt()];
  await late.begin(HEAD);
  expect(await late.earlier()).toBeUndefined();
  late.earlier = async () => undefined;
  await promoting.task("task");
  await expect(late.intend(0, "key", "once")).rejects.toMatchObject({ code: "conflict" });
});
