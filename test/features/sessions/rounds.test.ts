import { describe, expect, test } from "vitest";
import { prepare } from "../../worker/calls/client.ts";
import { messageIn } from "../../worker/mcp/legacy/session-client.ts";
import { begin } from "../../worker/mcp/legacy/session-steps.ts";

/** Servlets that return what they ask. */

prepare();
describe("a servlet that asks for nothing is called again at once", () => {
  test("in a session", async () => {
    const client = await begin();
    const { result } = await messageIn(await client.call("rounds", { rounds: 3, isSilent: true }));
    expect(result.content[0].text).toBe("nobody and nobody and nobody");
  });
});
