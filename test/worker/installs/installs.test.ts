/// <reference types="@cloudflare/vitest-plugin/types" />
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { installsOf } from "../../../src/installs/bindings.ts";
import type { Build } from "../../../src/installs/build.ts";
import { unsettled } from "../../../src/state/remote-hooks.ts";

/** Servlets are installed at the same time by several operators. */

const installs = installsOf(env)!();

function buildWith(name: string, ...tools: string[]): Build {
  const digest = name.length.toString(16).repeat(64).slice(0, 64);
  return {
    name,
    dialect: "hyper-v2",
    hash: digest,
    parts: { module: digest },
    startsOnce: false,
    restorable: true,
    exports: ["call_tool"],
    manifest: {},
    lists: {
      tools: tools.map((tool) => ({ name: tool, inputSchema: { type: "object" } })),
      resources: [],
      resourceTemplates: [],
      prompts: [],
    },
  };
}

const install = async (build: Build) => unsettled(await installs.install(build, "test"));

test("of two servlets with the same tool, only one is installed", async () => {
  const outcomes = await Promise.allSettled([
    install(buildWith("rake", "gather")),
    install(buildWith("broom", "gather")),
  ]);
  expect(outcomes).toMatchObject([
    { status: "fulfilled", value: { version: 1, isNew: true } },
    {
      status: "rejected",
      reason: {
        code: "conflict",
        message: expect.stringMatching(/^The servlet rake also has gather/),
      },
    },
  ]);
  expect((await installs.list()).map(({ name }) => name)).not.toContain("broom");
});

test("a rollback to a version whose tool another servlet now has is refused", async () => {
  await install(buildWith("spade", "dig"));
  await install(buildWith("spade", "plant"));
  await install(buildWith("shovel", "dig"));
  await expect(installs.rollBack("spade", 1).then(unsettled)).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringMatching(/^The servlet shovel also has dig/),
  });
  expect(await installs.versions("spade")).toMatchObject({ current: 2 });
  unsettled(await installs.uninstall("shovel"));
  expect(unsettled(await installs.rollBack("spade", 1))).toMatchObject({ version: 1 });
});
