import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { bundle } from "../../bundle.gen.ts";
import { listedName, templatePattern, wholeMatch } from "../../../src/servlets/catalog.ts";
import { ask, callTool } from "../server.ts";

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
    const bare = createApp(bundle, {});
    const { result } = await ask("tools/list", {}, {}, bare);
    const names = result?.["tools"].map(({ name }: { name: string }) => name);
    expect(names).toContain("greet");
    expect(names.join()).not.toContain("pick_");
    expect(error.mock.calls.flat().join()).toMatch(/seasonal.*SEASON is not set/);
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
  expect(templatePattern(template).test(one)).toBe(true);
  expect(templatePattern(template).test(other)).toBe(false);
});
