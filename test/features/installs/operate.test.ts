// @module-tag console
// @module-tag usage
import { unsettled } from "../../../src/server/kernel/core/settled.ts";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import type { Build } from "../../../src/server/features/installs/build.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { usageOf } from "../../../src/server/features/usage/usage.ts";
import { noSums } from "../../../src/server/kernel/observe/counted.ts";
import { bundle } from "../../bundle.gen.ts";
import { formWith, keysOf, PATH, served, signedIn } from "../../worker/pages/operating.ts";

/** How operators see and change installed servlets. */

const { keyCheckMs } = limits;
beforeEach(() => configureLimits({ keyCheckMs: 0 }));
afterEach(() => configureLimits({ keyCheckMs }));

describe("installed servlets", () => {
  const buildWith = (name: string, tool: string): Build => {
    const digest = tool.length.toString(16).repeat(64).slice(0, 64);
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
        tools: [{ name: tool, inputSchema: { type: "object" } }],
        resources: [],
        resourceTemplates: [],
        prompts: [],
      },
    };
  };

  test("are rolled back and uninstalled, as long as nobody else has changed them", async () => {
    const server = await served(["boss-7"]);
    const installs = env.INSTALLS!.getByName("installs");
    const install = async (tool: string) =>
      unsettled(await installs.install(buildWith("trowel", tool), "boss-7"));
    await install("scoop");
    await install("scoop_up");
    const boss = await signedIn(server, "boss-7");
    const first = await boss.fetch(PATH);
    await usageOf(env)!().add({
      total: noSums(),
      named: [],
      errors: [],
      stored: [],
      waiting: ["one", "two"].map((task) => ({
        task,
        servlet: "trowel",
        tool: "scoop",
        caller: "ada",
        until: Date.now() + 60_000,
      })),
    });
    const rolling = await boss.send(PATH, formWith(first.html, "Roll back trowel to 1"));
    expect(rolling.text).toContain("All callers get version 1, which boss-7 installed");
    expect(rolling.text).toContain("the build that they began with; 2 of them wait now");
    expect(await installs.versions("trowel")).toMatchObject({ current: 2 });
    const agreed = formWith(rolling.html, "Roll trowel back to 1");
    const back = await boss.send(PATH, agreed);
    expect(back.text).toContain("The older version is installed");
    expect(await installs.versions("trowel")).toMatchObject({ current: 1 });
    const late = await boss.send(PATH, agreed);
    expect(late.text).not.toContain("The older version is installed");
    const asked = await boss.send(PATH, formWith(back.html, "Uninstall trowel"));
    expect(asked.text).toContain("Its tools and all its versions are removed");
    const gone = await boss.send(PATH, formWith(asked.html, "Uninstall trowel"));
    expect(gone.text).toContain("The servlet is uninstalled");
    expect(gone.text).toMatch(/Uninstalled trowel\. .*Rolled trowel back to version 1\. /);
    expect((await installs.list()).map(({ name }) => name)).not.toContain("trowel");
  });

  test("are named as they are in the question whether to uninstall them", async () => {
    const boss = await signedIn(await served(["boss-6"], ["caller-6"]), "boss-6");
    const form = formWith((await boss.fetch(PATH)).html, "Revoke caller-6");
    const asked = await boss.send(PATH, { ...form, do: "ask-uninstall", name: "\u202egnp" });
    expect(asked.html).toMatch(/<button class="danger">Uninstall \\u\{202e\}gnp<\/button>/);
  });

  test("say what to bind where nothing can be installed", async () => {
    const server = createApp(
      new Kernel(bundle, {
        ...env,
        API_KEYS: await keysOf(["boss-8"], []),
        BUILDS: undefined,
        USAGE: undefined,
      }),
    );
    const { text } = await (await signedIn(server, "boss-8")).fetch(PATH);
    expect(text).toContain("bind the R2 bucket BUILDS");
    expect(text).toContain("bind the Durable Object USAGE");
  });
});
