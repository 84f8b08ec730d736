import { beforeEach, describe, expect, test, vi } from "vitest";
import { idleInstances } from "../../../src/server/kernel/wasm/pool.ts";
import { bundle } from "../../bundle.gen.ts";
import { callTool, textOf } from "../server.ts";

const TOO_LONG = "The servlet computed for too long and was stopped.";
const servlet = (name: string) => bundle.servlets.find((one) => one.name === name)!;

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

/** Calls it, and another servlet at the same time and afterwards. */
async function stopped(name: string) {
  const [{ status, result }, greeting] = await Promise.all([
    callTool(name),
    textOf("greet", { name: "Ada" }),
  ]);
  expect(greeting).toBe("Hello, Ada!");
  expect(await textOf("greet", { name: "Bob" })).toBe("Hello, Bob!");
  expect(status).toBe(200);
  expect(result).toMatchObject({ isError: true });
  return result?.["content"][0].text;
}

describe("a guest that computes for ever is stopped", () => {
  test.each([
    "loop",
    "grow",
    "host",
    "indirect",
    "fill",
    "catch",
    "throw",
    "deaf",
    "branch",
    "poll",
    "kernel",
    "entropy",
    "write_logs",
    "swell",
    "move",
    "unwind",
  ])("%s", async (way) => {
    const text = await stopped(`away-${way}`);
    expect(text).toBe(TOO_LONG);
    expect(idleInstances(servlet("runaway"))).toBe(0);
  });

  test("one that recurses cannot catch that it went too deep", async () => {
    expect(await stopped("away-recurse")).toMatch(/recursed too deeply/);
  });

  test("and so is one that starts for ever", async () => {
    expect(await stopped("rest")).toBe(TOO_LONG);
  });

  test("and one that does not goes on", async () => {
    expect(await textOf("away-quick")).toBe("done");
    await stopped("away-loop");
    expect(await textOf("away-quick")).toBe("done");
  });
});
