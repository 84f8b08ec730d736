import { beforeEach, describe, expect, test } from "vitest";
import {
  loadServlet,
  type Script,
  type ServletUnderTest,
} from "../../../src/tools/testing/index.ts";

/** Servlets that keep state, as their tests see them. */

const textOf = ({ result }: { result: { content: unknown[] } }) =>
  (result.content[0] as { text: string }).text;

describe("memory", () => {
  let counting: ServletUnderTest;
  beforeEach(async () => {
    counting = await loadServlet("test/guests/counting");
  });
  const call = async (tool: string, script?: Script) =>
    textOf(await counting.callTool(`counting-${tool}`, {}, script));

  test("lasts from call to call, for each caller, and not beyond the servlet under test", async () => {
    expect(await call("next")).toBe("1");
    expect(await call("next")).toBe("2");
    expect(await call("next", { caller: "ada" })).toBe("1");
    expect(await call("next", { session: "one" })).toBe("3");
    counting = await loadServlet("test/guests/counting");
    expect(await call("next")).toBe("1");
  });

  test("stays as it was where a call is stopped, and not where the servlet fails itself", async () => {
    expect(await call("spin")).toMatch(/comput/);
    expect(await call("next")).toBe("1");
    expect(await call("fail")).toMatch(/failed on purpose/);
    expect(await call("next")).toBe("3");
  });

  test("is the same for calls that are made at once, one after another", async () => {
    const said = await Promise.all(Array.from({ length: 5 }, () => call("next")));
    expect(said).toEqual(["1", "2", "3", "4", "5"]);
  });

  test("is changed once by a call that is run again after each answer", async () => {
    const answers = { "elicitation/create": [{ action: "accept", content: { text: "a" } }] };
    expect(await call("note", { answers, alwaysReplay: true })).toBe("a");
    expect(await call("note", { answers, alwaysReplay: true })).toBe("a a");
  });
});

describe("files", () => {
  let filing: ServletUnderTest;
  beforeEach(async () => {
    filing = await loadServlet("test/guests/filing");
  });
  const call = async (what: string, args: Record<string, string>, script?: Script) =>
    textOf(await filing.callTool("filing-do", { what, ...args }, script));

  test("begin with those of the bundle, and with those that the test writes", async () => {
    await filing.writeFiles({ "/data/deep/a.txt": "given", "/data/b": new Uint8Array([255]) });
    expect(await call("read", { path: "/data/deep/a.txt" })).toBe("given");
    expect(await call("append", { path: "/data/deep/a.txt", text: " and more" })).toBe("done");
    expect(await filing.files()).toMatchObject({
      "/data/b": new Uint8Array([255]),
      "/data/deep/a.txt": "given and more",
      "/view/r.txt": "readme",
    });
    expect(await filing.files({ caller: "bob" })).not.toHaveProperty("/data/deep/a.txt");
  });

  test("stay as they were where a call traps", async () => {
    await call("write", { path: "/data/a", text: "before" }, { caller: "ada" });
    const doing = { path: "/data/a", text: "after" };
    expect(await call("write_then_trap", doing, { caller: "ada" })).toMatch(/crashed/);
    expect(await filing.files({ caller: "ada" })).toMatchObject({ "/data/a": "before" });
  });

  test("that are open stay so when the test looks at them", async () => {
    await filing.writeFiles({ "/data/a": "0123" });
    await call("keep", { path: "/data/a" });
    expect(await call("next", {})).toBe("0");
    expect(await filing.files()).toMatchObject({ "/data/a": "0123" });
    await filing.writeFiles({ "/data/c": "other" });
    expect(await call("next", {})).toBe("1");
  });

  test("are refused for a servlet that keeps none", async () => {
    const hello = await loadServlet("plugins/hello");
    await expect(hello.files()).rejects.toThrow(/keeps nothing/);
  });
});
