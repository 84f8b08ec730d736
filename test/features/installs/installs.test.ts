/// <reference types="@cloudflare/vitest-plugin/types" />
import { unsettled } from "../../../src/server/kernel/core/settled.ts";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import type { Build } from "../../../src/server/features/installs/build.ts";

/** Servlets are installed at the same time by several operators. */

const installs = env.INSTALLS!.getByName("installs");

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

test("the builds of all installed servlets together fit into the message in which isolates get them", async () => {
  const usual = { ...limits };
  const long = (name: string) => {
    const build = buildWith(name, `do_${name}`);
    const { lists } = build;
    const tools = lists!.tools.map((tool) => ({ ...tool, description: "x".repeat(50_000) }));
    return { ...build, lists: { ...lists!, tools } };
  };
  const text = JSON.stringify(await installs.since(-1));
  configureLimits({ installedBytes: text.length + 120_000 });
  try {
    await install(long("ladder"));
    await install(long("barrow"));
    await expect(install(long("trowel"))).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("Uninstall one first"),
    });
    // A new version takes the place of the one before.
    await install({ ...long("barrow"), manifest: { description: "newer" } });
    unsettled(await installs.uninstall("ladder"));
    await install(long("trowel"));
  } finally {
    configureLimits(usual);
  }
});
