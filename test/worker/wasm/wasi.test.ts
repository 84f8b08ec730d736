import { describe, expect, test, vi } from "vitest";
import { callTool, textOf } from "../server.ts";

describe("WASI", () => {
  test("the clock tells the time", async () => {
    const before = Date.now();
    const told = Number(await textOf("time"));
    expect(told).toBeGreaterThanOrEqual(before);
    expect(told).toBeLessThanOrEqual(Date.now());
  });

  test("random numbers differ from call to call", async () => {
    expect(await textOf("random")).not.toBe(await textOf("random"));
  });

  test("there are no arguments and no environment", async () => {
    expect(await textOf("environment")).toBe("0 0 0 0");
  });

  test("there is no file system: an errno, not a trap", async () => {
    expect(await textOf("files")).toBe("8 44");
  });

  test("stdout and stderr go to the log", async () => {
    const info = vi.spyOn(console, "info");
    const warn = vi.spyOn(console, "warn");
    expect(await textOf("print", { text: "to be read" })).toBe("10");
    expect(info).toHaveBeenCalledWith("[probe] to be read");
    expect(warn).toHaveBeenCalledWith("[probe] to be read");
  });

  test("log calls below the server's level are dropped", async () => {
    const info = vi.spyOn(console, "info");
    const debug = vi.spyOn(console, "debug");
    await textOf("logs");
    expect(info).toHaveBeenCalledWith("[probe] worth knowing");
    expect(debug).not.toHaveBeenCalled();
  });

  test("poll_oneoff answers at once for a file, without the clocks", async () => {
    expect(await textOf("poll")).toBe("1 2 2");
  });

  test("poll_oneoff waits for its clock", async () => {
    const began = Date.now();
    await textOf("wait", { seconds: 0.2 });
    expect(Date.now() - began).toBeGreaterThanOrEqual(190);
  });

  test("proc_exit(0) ends a call well, another code does not", async () => {
    expect(await textOf("exit", { code: 0 })).toBe("before the end");
    const { result } = await callTool("exit", { code: 3 });
    expect(result).toMatchObject({ isError: true });
    expect(result?.["content"][0].text).toContain("code 3");
  });
});
