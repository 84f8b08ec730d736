import { describe, expect, test, vi } from "vitest";
import { isObject } from "../../../src/server/kernel/core/model.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { call, fetchFrom, post, server } from "./client.ts";
import { wrongRequest } from "./published.ts";

/** Requests that are refused before a tool is called. */
const SMALL = { tool_id: "clock.now" };
const LENT = {
  authorization: [{ id: "google", token: "the-token" }],
  secrets: [{ id: "TWILIO_API_KEY", value: "the-secret" }],
  user_id: "ada",
};

describe("400", () => {
  test.each<[string, unknown]>([
    ["no request", {}],
    ["no object", []],
    ["null", null],
    ["a text", '"text"'],
    ["no JSON", "{"],
    ["nothing", ""],
    ["a request that is no object", { request: "clock.now" }],
    ["a request at the top", SMALL],
    ["no tool", { request: {} }],
    ["a tool that is no text", { request: { tool_id: 1 } }],
    ["input that is no object", { request: { ...SMALL, input: [] } }],
    ["input that is null", { request: { ...SMALL, input: null } }],
    ["an unknown key", { request: { ...SMALL, inputs: {} } }],
    ["a call_id that is no text", { request: { ...SMALL, call_id: 1 } }],
    ["a context that is no object", { request: { ...SMALL, context: [] } }],
    [
      "secrets that are no list",
      { request: { ...SMALL, context: { secrets: { a: "the-secret" } } } },
    ],
    ["a secret that is no object", { request: { ...SMALL, context: { secrets: ["the-secret"] } } }],
    [
      "a secret without a value",
      { request: { ...SMALL, context: { secrets: [{ id: "the-secret" }] } } },
    ],
    [
      "a secret as a token",
      { request: { ...SMALL, context: { authorization: [{ id: "a", value: "the-secret" }] } } },
    ],
    [
      "a token as a secret",
      { request: { ...SMALL, context: { secrets: [{ id: "a", token: "the-token" }] } } },
    ],
    ["a token at the top", { request: { ...SMALL, authorization: LENT.authorization } }],
    ["a user that is no text", { request: { ...SMALL, context: { user_id: 1 } } }],
  ])("%s", async (_, body) => {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(answer["message"]).toMatch(/\w/);
    expect(JSON.stringify(answer)).not.toMatch(/the-secret|the-token/);
    // Of a body that is no object, the published schema says nothing.
    expect(isObject(body) ? wrongRequest(body) : ["no object"]).not.toEqual([]);
  });

  test.each([
    "hello-x.greet",
    "hello.greet-x",
    "http-status.lookup_status",
    "greet",
    "hello.",
    ".greet",
    "hello.greet@",
    "hello.greet@1.0",
    "hello.greet@1.0.0.0",
    "hello.greet@v1",
    "hello.greet@1.0.0-beta",
    "hello.greet@-1",
    "hello.greet\n",
    "a.b.c",
    "",
  ])("the id %j is malformed", async (id) => {
    const { status, message } = await call(id, { name: "Ada" });
    expect(status).toBe(400);
    expect(message).toContain("request.tool_id must be");
  });

  test.each([
    ["nobody.greet", /Unknown tool nobody\.greet/],
    ["hello.nothing", /Unknown tool hello\.nothing/],
    ["Hello.greet", /Unknown tool Hello\.greet/],
    ["hello.__proto__", /Unknown tool/],
    ["constructor.constructor", /Unknown tool/],
    ["hello.greet@2", /Unknown version 2\.0\.0 of hello\.greet\. Available: 1\.0\.0/],
    ["hello.greet@01.0.0", /Unknown version/],
    [`hello.greet@${"9".repeat(400)}`, /Unknown version/],
    ["otc.Tree", /Unknown tool otc\.Tree/],
  ])("%s is unknown", async (id, why) => {
    const { status, message } = await call(id, { name: "Ada" });
    expect(status).toBe(400);
    expect(message).toMatch(why);
  });

  test.each<[object | undefined, RegExp]>([
    [undefined, /user_id/],
    [{}, /user_id/],
    [{ ...LENT, user_id: "" }, /user_id/],
    [{ ...LENT, authorization: undefined }, /a token for google \(authorization\)/],
    [{ ...LENT, authorization: [] }, /a token for google/],
    [{ ...LENT, authorization: [{ id: "github", token: "the-token" }] }, /a token for google/],
    [{ ...LENT, authorization: [{ id: "google", token: "" }] }, /a token for google/],
    [{ ...LENT, secrets: [] }, /the secret TWILIO_API_KEY \(secrets\)/],
    [{ ...LENT, secrets: [{ id: "OTHER", value: "the-secret" }] }, /the secret TWILIO_API_KEY/],
    [{ ...LENT, secrets: [{ id: "google", value: "the-secret" }], authorization: [] }, /google/],
  ])("a tool needs more than %j", async (context, why) => {
    const { status, ...answer } = await call("otc.Look", {}, { context });
    expect(status).toBe(400);
    expect(answer["message"]).toMatch(why);
    expect(JSON.stringify(answer)).not.toMatch(/the-secret|the-token/);
  });

  test.each([{ call_id: "" }, { call_id: "x".repeat(257) }, { trace_id: "" }])(
    "%j has another length",
    async (ids) => {
      expect((await post({ request: { ...SMALL, ...ids } })).status).toBe(400);
    },
  );
});

describe("422", () => {
  test.each<[string, object, object]>([
    ["hello.greet", {}, { name: expect.stringContaining("required") }],
    ["hello.greet", { name: 1 }, { name: "must be a string, not a number" }],
    ["hello.greet", { name: "Ada", more: 1 }, { more: "is not expected; expected: `name`" }],
    [
      "otc.Add",
      { a: "1", b: true },
      { a: "must be a number, not a string", b: "must be a number, not a boolean" },
    ],
    ["report.rfc_report", { rfcs: [1, "2"] }, { rfcs: "1 must be an integer, not a string" }],
    [
      "http_status.lookup_status",
      { code: 99.5 },
      { code: "must be an integer, not a fraction; must be at least 100" },
    ],
    ["seasonal.pick_plums", { n: "one" }, { n: expect.stringContaining("integer") }],
    [
      "hello.greet",
      JSON.parse('{"name":"Ada","__proto__":1}') as object,
      JSON.parse('{"__proto__":"is not expected; expected: `name`"}') as object,
    ],
  ])("%s of %j", async (tool, input, errors) => {
    const { status, message, parameter_errors } = await call(tool, input);
    expect(status).toBe(422);
    expect(message).toMatch(
      new RegExp(`^Tool input does not match the input schema of ${tool}@1.0.0: .`),
    );
    expect(parameter_errors).toEqual(errors);
  });

  test("a secret among the input is not repeated", async () => {
    const { status, ...answer } = await call("hello.greet", {
      secrets: "the-secret",
      name: ["the-secret"],
    });
    expect(status).toBe(422);
    expect(JSON.stringify(answer)).not.toContain("the-secret");
  });
});

describe("other invalid requests", () => {
  test("an oversized body is not read", async () => {
    const body = JSON.stringify({
      request: { ...SMALL, input: { x: "x".repeat(limits.bodyBytes) } },
    });
    const { status, message } = await post(body);
    expect(status).toBe(413);
    expect(message).toContain("too large");
  });

  test("nor one that does not say how large it is", async () => {
    const chunk = new Uint8Array(1024 * 1024).fill(32);
    let chunks = 0;
    const body = new ReadableStream({
      pull: (controller) => (++chunks > 20 ? controller.close() : controller.enqueue(chunk)),
    });
    const headers = { "content-type": "application/json" };
    const { status } = await fetchFrom(server, "/tools/call", { method: "POST", headers, body });
    expect(status).toBe(413);
    expect(chunks).toBeLessThan(15);
  });

  test("a body of another type", async () => {
    const headers = { "content-type": "text/plain" };
    const { status } = await post({ request: SMALL }, server, headers);
    expect(status).toBe(415);
  });

  test.each([
    ["POST", "/tools", "GET"],
    ["GET", "/tools/call", "POST"],
    ["DELETE", "/tools/call", "POST"],
  ])("%s %s", async (method, path, allowed) => {
    const { status, headers } = await fetchFrom(server, path, { method });
    expect([status, headers.get("allow")]).toEqual([405, allowed]);
  });

  test("a foreign web page", async () => {
    const headers = { origin: "https://evil.example" };
    const { status, message } = await post({ request: SMALL }, server, headers);
    expect(status).toBe(403);
    expect(message).toContain("ALLOWED_ORIGINS");
  });

  test("input that is too deep", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    const { status } = await post(`{"request":{"tool_id":"otc.Plain","input":{"x":${deep}}}}`);
    expect(status).toBe(413);
  });
});
