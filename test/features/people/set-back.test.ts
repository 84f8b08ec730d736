import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { clock, prepare } from "../../worker/calls/client.ts";
import { HOUR } from "../../worker/calls/plans.ts";

/** A clock that is set back by hours. */
prepare();

const name = () => crypto.randomUUID();

test("a page waits no longer than it says", async () => {
  const person = env.PROFILES!.getByName(name());
  clock.aheadMs = 10 * HOUR;
  const waited = person.secret("ada", { servlet: "a", name: "b" }, { after: 0, ms: 200 });
  await scheduler.wait(50);
  clock.aheadMs = 0;
  expect(await waited).toBeUndefined();
});
