import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { progressTokenOf } from "../../../src/server/kernel/mcp/wire/notifications.ts";
import { answerOf, app, modern, post, URL_OF_MCP } from "../server.ts";

describe("bodies that are no message", () => {
  test.each([
    ["", -32700],
    ["{", -32700],
    ["\u0000", -32700],
    ["null", -32600],
    ["7", -32600],
    ['"tools/list"', -32600],
    ["{}", -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":7}', -32600],
    ['{"jsonrpc":"2.0","id":1}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', -32600],
  ])("%s", async (body, code) => {
    const { status, error } = await answerOf(await post(body));
    expect({ status, code: error?.code }).toEqual({ status: 400, code });
  });

  test("a progress token that is too long is none", () => {
    const token = "x".repeat(limits.idCharacters);
    expect(progressTokenOf({ progressToken: token })).toBe(token);
    expect(progressTokenOf({ progressToken: `${token}x` })).toBeUndefined();
  });

  test.each<[string, object]>([
    ["tools/call", { name: "greet\ud83d", arguments: {} }],
    ["tools/call", { name: "greet", arguments: { "\udc00": "\ud83d" } }],
    ["tools/call", { name: "greet", arguments: { name: "\ud83d" } }],
    ["prompts/get", { name: "\ud83d" }],
    ["resources/read", { uri: "x://\udc00" }],
    ["none\ud83d", {}],
  ])("half a character is not sent back (%#)", async (method, params) => {
    const response = await post({ jsonrpc: "2.0", id: 1, method, params });
    expect(await response.text()).not.toMatch(/\\ud[89a-f]/i);
  });

  test("an error names the request where it has a usable id", async () => {
    expect((await answerOf(await post({ jsonrpc: "2.0", id: "x", method: 1 }))).id).toBe("x");
    expect((await answerOf(await post({ jsonrpc: "2.0", id: {}, method: "ping" }))).id).toBeNull();
  });

  test.each([
    ["name", 7],
    ["name", null],
    ["arguments", []],
    ["arguments", "x"],
  ])("params.%s: %o is -32602", async (key, value) => {
    const params = { name: "greet", arguments: { name: "Ada" }, [key]: value };
    const { status, error } = await answerOf(
      await post({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    );
    expect({ status, code: error?.code }).toEqual({ status: 200, code: -32602 });
  });
});

describe("requests that are not for here", () => {
  test("a body that is too large is refused before it is read whole", async () => {
    let pulled = 0;
    const chunk = new Uint8Array(1024 * 1024);
    const body = new ReadableStream({
      pull(controller) {
        pulled += chunk.length;
        controller.enqueue(chunk);
      },
    });
    const headers = { "content-type": "application/json", accept: "application/json" };
    const response = await app.fetch(new Request(URL_OF_MCP, { method: "POST", headers, body }));
    expect(response.status).toBe(413);
    expect(pulled).toBeLessThan(2 * limits.bodyBytes);
  });

  test("a body that says it is too large is not read at all", async () => {
    const response = await post("{}", { "content-length": String(limits.bodyBytes + 1) });
    expect(response.status).toBe(413);
  });

  test.each([
    [{ accept: "text/plain" }, 406],
    [{ accept: "Application/JSON, Text/Event-Stream" }, 200],
    [{ accept: "APPLICATION/*;q=0.5" }, 200],
    [{ "content-type": "text/plain" }, 415],
    [{ "content-type": "Application/JSON; charset=UTF-8" }, 200],
    [{ "content-encoding": "identity" }, 200],
    [{ "mcp-protocol-version": "yesterday" }, 400],
    [{ "mcp-protocol-version": "2026-07-28" }, 400],
  ])("%o: %i", async (headers, status) => {
    const response = await post({ jsonrpc: "2.0", id: 1, method: "ping" }, headers);
    expect(response.status).toBe(status);
    expect((await answerOf(response)).error === undefined).toBe(status === 200);
  });

  test.each(["gzip", "deflate"] as const)("a body compressed by %s: 415", async (coding) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const stream = new Blob([body]).stream().pipeThrough(new CompressionStream(coding));
    const request = new Request(URL_OF_MCP, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        "content-encoding": coding.toUpperCase(),
      },
      body: await new Response(stream).bytes(),
    });
    const { status, error } = await answerOf(await app.fetch(request));
    expect(status).toBe(415);
    expect(error?.message).toMatch(/^The body is compressed/);
  });

  test.each(["GET", "PUT", "DELETE"])("%s: 405, with what is allowed", async (method) => {
    const response = await app.fetch(new Request(URL_OF_MCP, { method }));
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
  });
});

test("no answer to anything shows what the host is made of", async () => {
  const bodies = ["{", "null", JSON.stringify(modern("nope").body)];
  for (const body of bodies) {
    expect(await (await post(body)).text()).not.toMatch(/\.ts\b|\bat \S+:\d+|node_modules|Error:/);
  }
});
