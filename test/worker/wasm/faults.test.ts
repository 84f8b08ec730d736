import { describe, expect, test, vi } from "vitest";
import { callTool, textOf } from "../server.ts";

/** Nothing that a caller must not see: stacks, paths, the guest's URL, what the host is made of. */
const secretive = /wasm-function|\.ts\b|\.wasm|\bat \S+:\d+|hush|stack|\/work|node_modules/i;

describe("a tool that fails gives a result with isError, so that a model can mend its call", () => {
  test.each([
    ["trap", /crashed/],
    ["recurse", /too deeply/],
    ["refuse", /^the moon is in the wrong phase$/],
    ["code_only", /code 7 and no message/],
    ["error_without_code", /^said, but returned 0$/],
    ["forbidden_host", /forbidden\.example.*does not allow/],
    ["local_host", /127\.0\.0\.1:1.*does not allow/],
    ["not_http", /file:/],
    ["exhaust_memory", /ran out of memory/],
    ["out_of_bounds", /crashed/],
    ["throw", /crashed/],
    ["bad_notification", /expects a JSON object/],
    ["error_beyond_memory", /code 1/],
    ["forged_text", /crashed/],
    ["forged_json", /crashed/],
    ["forged_value", /crashed/],
    ["forged_error", /crashed/],
    ["forged_free_list", /crashed/],
    ["forged_vectors", /crashed/],
    ["forged_subscriptions", /crashed/],
    ["forged_range", /crashed/],
  ])("%s", async (name, message) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const { status, result } = await callTool(name);
    expect(status).toBe(200);
    expect(result).toMatchObject({ isError: true, resultType: "complete" });
    expect(result?.["content"][0].text).toMatch(message);
    expect(JSON.stringify(result)).not.toMatch(secretive);
    // It was that instance alone.
    expect(await textOf("fine")).toBe("fine");
  });
});

describe("output that is no result is the servlet's fault, and no tool's answer", () => {
  test.each([
    ["no_output", /no output/],
    ["not_json", /not JSON/],
    ["not_an_object", /not a JSON object/],
    ["not_a_result", /the result has `answer` and no content/],
    ["output_beyond_memory", /no output/],
    ["bad_structure", /outputSchema of bad_structure: `n` must be an integer/],
  ])("%s", async (name, message) => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const { status, error } = await callTool(name);
    expect(status).toBe(200);
    expect(error?.code).toBe(-32603);
    expect(error?.message).toMatch(message);
    expect(JSON.stringify(error)).not.toMatch(secretive);
  });
});

describe("a servlet's own JSON-RPC errors", () => {
  test("go out as they are", async () => {
    const { error } = await callTool("own_error");
    expect(error).toEqual({ code: 1234, message: "mine", data: { a: 1 } });
  });

  test("have no code that the specification keeps for itself", async () => {
    expect((await callTool("reserved_error")).error?.code).toBe(-32603);
  });
});

test("an error of an AssemblyScript servlet is logged with its place", async () => {
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  await callTool("throw");
  expect(error.mock.calls.flat().join()).toMatch(
    /thrown on purpose \(test\/guests\/faulty\/assembly\/index\.ts:\d+/,
  );
});
