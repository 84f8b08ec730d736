import { describe, expect, test } from "vitest";
import { callTool, settings, textOf } from "../server.ts";

describe("Extism's host functions", () => {
  test.each([
    ["plain", "as it is"],
    ["greeting", "hi ${x}"],
    ["constructor", "own"],
    ["toString", ""],
    ["missing", ""],
    ["", ""],
    ["__proto__", ""],
    ["hasOwnProperty", ""],
    ["GREETING", ""],
    ["VAULT_PROBE", ""],
    ["SEASON", ""],
    ["\0plain", ""],
  ])("config_get(%s)", async (key, value) => {
    expect(await textOf("config", { key })).toBe(value);
  });

  test("config_get of before December 2024 gives JSON", async () => {
    expect(await textOf("old_config", { key: "plain" })).toBe('"as it is"');
  });

  test("get_keyring_secret gives what the manifest names and the Worker has", async () => {
    expect(await textOf("secret", { of: { service: "vault", user: "probe" } })).toBe(
      settings.VAULT_PROBE,
    );
    expect(await textOf("secret", { of: { service: "vault", user: "other" } })).toBe("");
  });

  test("config_get of a megabyte is refused", async () => {
    const { result } = await callTool("config", { key: "plain".repeat(200_000) });
    expect(result).toMatchObject({ isError: true });
    expect(result?.["content"][0].text).toMatch(/name given to config_get is too large/);
  });

  test.each([
    { service: "vault", user: "constructor" },
    { service: "__proto__", user: "probe" },
    { service: "vault_probe", user: "" },
    { service: "VAULT", user: "PROBE" },
    { service: ["vault"], user: { toString: "probe" } },
    {},
  ])("get_keyring_secret(%j) gives nothing", async (of) => {
    expect(await textOf("secret", { of })).toBe("");
  });

  test("variables are set, read and deleted within their bound", async () => {
    expect(await textOf("variables")).toBe("[] [value] []");
    const { result } = await callTool("variables", { size: 1 });
    expect(result?.["isError"]).toBe(true);
    expect(result?.["content"][0].text).toContain("variables");
  });

  test("a million blocks can be made", async () => {
    expect(await textOf("million_blocks")).toBe(`999999 ${8 + (999_999 % 24)}`);
  });

  test("freed blocks are used again", async () => {
    expect(await textOf("big_blocks")).toBe("fits");
  });

  test("lengths are those of blocks in use, and 0 for everything else", async () => {
    expect(await textOf("block_lengths")).toBe("100 0 0 0 0");
  });

  test("the length given to output_set counts", async () => {
    expect((await callTool("short_output")).result).toMatchObject({ content: [] });
  });

  test("get_log_level is the server's", async () => {
    expect(await textOf("level")).toBe("2");
  });

  test("a guest written for the misspelt namespace finds its function", async () => {
    const answer = await callTool("roots");
    expect(answer.error?.code).toBe(-32021);
    expect(answer.error?.data).toEqual({ requiredCapabilities: { roots: {} } });
  });

  test("start functions run in the reference runtime's order, _start never", async () => {
    expect(await textOf("order")).toBe("ab  ");
  });

  test("every call has a new instance", async () => {
    expect(await textOf("remember")).toBe("1");
    expect(await textOf("remember")).toBe("1");
  });

  test("a megabyte goes in and out unchanged", async () => {
    const name = "ä€𝄞".repeat(100_000);
    expect(await textOf("greet", { name })).toBe(`Hello, ${name}!`);
  });
});
