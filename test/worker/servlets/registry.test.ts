import { features } from "../../all-features.ts";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { Steps } from "../../../src/server/kernel/schema/steps.ts";
import { listedName, wholeMatch } from "../../../src/server/kernel/servlets/catalog.ts";
import { templateMatcher } from "../../../src/server/kernel/servlets/templates.ts";
import { answerOf, ask, callTool, modern, post } from "../server.ts";
import { settings } from "../settings.ts";

describe("lists that depend on the world", () => {
  test("are asked for at run time, and their arguments are checked", async () => {
    const { result } = await ask("tools/list");
    const names = result?.["tools"].map(({ name }: { name: string }) => name);
    expect(names).toContain("pick_plums");
    expect(result?.["ttlMs"]).toBeLessThanOrEqual(30_000);
    expect((await callTool("pick_plums", { n: 1 })).result?.["content"][0].text).toBe("picked");
    const { result: wrong } = await callTool("pick_plums", { n: "one" });
    expect(wrong?.["isError"]).toBe(true);
    expect(wrong?.["content"][0].text).toMatch(/\bn\b/);
  });

  test("are empty where the servlet fails, and the log says why; the others go on", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const bare = createApp(new Kernel(bundle, {}));
    const { result } = await ask("tools/list", {}, {}, bare);
    const names = result?.["tools"].map(({ name }: { name: string }) => name);
    expect(names).toContain("greet");
    expect(names.join()).not.toContain("pick_");
    expect(error.mock.calls.flat().join()).toMatch(
      /seasonal.*SEASON, which its env_vars name, is not set/,
    );
  });
});

describe("a list that fails at run time", () => {
  const dry = () =>
    createApp(new Kernel(bundle, Object.assign({ ...settings }, { SEASON: "drought" })));

  test("takes no other with it, and the log says why it is missing", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const app = dry();
    const { result } = await ask("tools/list", {}, {}, app);
    const names = result?.["tools"].map(({ name }: { name: string }) => name);
    expect(names).toContain("pick_drought");
    expect(error.mock.calls.flat().join()).toMatch(
      /seasonal.*no list of resources.*its folder is missing/,
    );
  });
});

describe("completion", () => {
  test("comes from the servlet, for prompts and templates", async () => {
    const argument = { name: "code", value: "40" };
    for (const ref of [
      { type: "ref/prompt", name: "explain_status" },
      { type: "ref/resource", uri: "http-status://{code}" },
    ]) {
      const { result } = await ask("completion/complete", { ref, argument });
      expect(result?.["completion"].values).toContain("404");
    }
  });
});

test("prompts are given, with their arguments", async () => {
  const { result } = await ask("prompts/get", {
    name: "explain_status",
    arguments: { code: "418" },
  });
  expect(result?.["messages"][0].content.text).toContain("418");
});

test("patterns match whole names", () => {
  const skips = wholeMatch(["a|b", "temp_.*"]);
  expect(["a", "b", "ab", "temp_x", "x_temp_"].map(skips)).toEqual([
    true,
    true,
    false,
    true,
    false,
  ]);
});

test("names that clients would refuse become ones that they take", () => {
  expect(listedName("a b/c", undefined)).toBe("a_b_c");
  expect(listedName("greet", "gh")).toBe("gh-greet");
  expect(listedName("名前", undefined)).toBe("_");
});

test.each([
  ["test://{id}/data", "test://7/data", "test://7/8/data"],
  ["file:///{+path}", "file:///a/b", "http:///a"],
  ["x://{a}{?q,r}", "x://1?q=2", "x://1/2"],
  ["x://a.b/{c}", "x://a.b/1", "x://aXb/1"],
])("the template %s stands for %s and not for %s", (template, one, other) => {
  expect(templateMatcher(template)(one, new Steps(1000))).toBe(true);
  expect(templateMatcher(template)(other, new Steps(1000))).toBe(false);
});

test("templates and patterns are matched in linear time", () => {
  const steps = new Steps(100_000);
  const matches = templateMatcher("date://{year}-{month}-{day}{+rest}-{+more}!");
  expect(matches(`date://${"-".repeat(8000)}`, steps)).toBe(false);
  expect(matches(`date://${"-".repeat(8000)}!`, steps)).toBe(true);
  const skips = wholeMatch(["(.*a)*", "(x+x+)+y"]);
  expect(skips(`test://${"a".repeat(8000)}b`)).toBe(false);
  expect(skips("x".repeat(8000))).toBe(false);
});

test("a URI that templates match in no reasonable time is refused", async () => {
  const template = { uriTemplate: `${"{+a}".repeat(100)}!`, name: "t" };
  const many = Array.from({ length: 2000 }, (_, at) => ({
    ...template,
    uriTemplate: `${template.uriTemplate}${at}`,
  }));
  const [first] = bundle.servlets;
  const servlet = { ...first!, lists: { ...first!.lists!, resourceTemplates: many } };
  const server = createApp(new Kernel({ features, servlets: [servlet] }, {}));
  const { error } = await ask("resources/read", { uri: "x".repeat(8000) }, {}, server);
  expect(error?.message).toMatch(/URI of 8000 characters takes more than \d+ steps.*shorter/);
});

describe("an unknown name", () => {
  test.each<[string, RegExp]>([
    ["gret", /^Unknown tool: gret\. Did you mean greet\? See tools\/list\.$/],
    ["Greet", /Did you mean greet\?/],
    ["nothing_like_it", /^Unknown tool: nothing_like_it\. See tools\/list\.$/],
    ["x", /^Unknown tool: x\. See tools\/list\.$/],
    ["greet".repeat(30_000), /^Unknown tool: greetgreet/],
  ])("of a tool, %.20s, names the one that was probably meant", async (name, message) => {
    expect((await callTool(name, {})).error?.message).toMatch(message);
  });

  test("names none that the caller may not use", async () => {
    const narrow = createApp(
      new Kernel(bundle, {
        ...settings,
        API_KEYS: JSON.stringify({ ann: { hash: await hashOf("ann"), scopes: ["echo:*"] } }),
      }),
    );
    const { body, headers } = modern("tools/call", { name: "gret", arguments: {} });
    const { error } = await answerOf(
      await post(body, { ...headers, authorization: "Bearer ann" }, narrow),
    );
    expect(error?.message).toBe("Unknown tool: gret. See tools/list.");
  });
});

const hashOf = async (key: string) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key))).toHex();

test("misspelt variables are named once, with what was probably meant", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const app = createApp(
    new Kernel(
      bundle,
      Object.assign({ ...settings }, { SEASN: "x", COLOUR: "red", API_KEY: "{}" }),
    ),
  );
  for (let nth = 0; nth < 2; nth++) await ask("tools/list", {}, {}, app);
  const said = warn.mock.calls.flat().filter((line) => String(line).startsWith("Settings: "));
  warn.mockRestore();
  expect(said).toEqual([
    "Settings: no servlet and nothing of the server uses SEASN; did you mean SEASON?",
    "Settings: no servlet and nothing of the server uses API_KEY; did you mean API_KEYS?",
  ]);
});
