import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { clock, prepare } from "../../worker/calls/client.ts";
import { HOUR } from "../../worker/calls/plans.ts";

/** A clock that is set back by hours. */
prepare();

test("what is served is asked for again", async () => {
  const kernel = new Kernel(bundle, { ...env, LOADER: env.TEST_LOADER });
  const installs = env.INSTALLS!.getByName("installs");
  // Its next sweep is planned by the right clock: tests of other files wait for it.
  await installs.since(-1);
  clock.aheadMs = 10 * HOUR;
  await kernel.registry();
  clock.aheadMs = 0;
  const digest = "5e7b".repeat(16);
  const build = {
    name: "set_back",
    dialect: "hyper-v2" as const,
    hash: digest,
    parts: { module: digest },
    startsOnce: false,
    restorable: true,
    exports: ["call_tool"],
    manifest: {},
    lists: { tools: [], resources: [], resourceTemplates: [], prompts: [] },
  };
  await installs.install(build, "test");
  const { whole } = await kernel.registry();
  expect(whole.servlets.map((one) => one.name)).toContain("set_back");
  await installs.uninstall("set_back");
});
