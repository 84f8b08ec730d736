import { describe, expect, test } from "vitest";
import { at, namesAt, profiled } from "../profiles.ts";
import { answerOf, post } from "../server.ts";
import { prepare } from "./issuer.ts";
import { send } from "./key-holders.ts";

/** Each profile is a resource of its own: who may use it, and by which tokens. */
prepare();

const digest = async (text: string) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();

/** A server where this key has these scopes. */
async function keyed(scopes?: readonly string[], more: object = {}) {
  const entry = { hash: await digest("key"), ...(scopes && { scopes }) };
  return profiled({ API_KEYS: JSON.stringify({ key: entry }), ...more });
}

const greet = { name: "greet" };
const authorization = { authorization: "Bearer key" };

describe("an API key", () => {
  test("without scopes may use all", async () => {
    const server = await keyed();
    for (const one of [at("support", server), at("plans", server), server])
      expect((await send(one, "key", "tools/list")).status).toBe(200);
  });

  test.each([[["profile:support"]], [["profile:sup*"]], [["hello:x", "profile:*"]], [["helper"]]])(
    "with %j has all of the profile, and nothing else",
    async (scopes) => {
      const SCOPES = JSON.stringify({ helper: ["profile:support"] });
      const server = await keyed(scopes, { SCOPES });
      const there = await namesAt(at("support", server), authorization);
      expect(there).toEqual(await namesAt(at("support", profiled())));
      expect((await namesAt(server, authorization)).tools).not.toContain("greet");
      const call = await send(server, "key", "tools/call", { ...greet, arguments: { name: "A" } });
      expect(call.status).toBe(403);
    },
  );

  test.each([
    [[]],
    [["hello:greet"]],
    [["*:*"]],
    [["*:support"]],
    [["profile:plans"]],
    [["operator"]],
  ])("with %j is refused there, and told the scope that it lacks", async (scopes) => {
    const server = at("support", await keyed(scopes));
    const response = await send(server, "key", "tools/list");
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toContain('scope="profile:support"');
  });
});

test("where anybody may call, anybody may use a profile", async () => {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo_input" } };
  const { status } = await answerOf(await post(body, {}, at("support", profiled())));
  expect(status).toBe(200);
});
