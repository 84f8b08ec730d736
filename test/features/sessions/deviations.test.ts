import { describe, expect, test } from "vitest";
import { serverOf } from "../../worker/auth/key-holders.ts";
import { log, steps } from "../../worker/calls/plans.ts";
import { as, prepare } from "../../worker/calls/client.ts";
import { begin, listened } from "../../worker/mcp/legacy/session-steps.ts";

/** An accepted deviation weakens no security check. */
prepare();

describe("a second standalone stream takes over, and", () => {
  test("only that of the session's own principal", async () => {
    const to = await serverOf({ ada: {}, bob: {} });
    const client = await begin({ ticket: false, server: to, ...as("ada") });
    const first = await listened(client);
    for (const headers of [as("bob").headers, { authorization: "" }]) {
      expect((await client.listen(undefined, headers)).ok).toBe(false);
    }
    await client.call("plan", steps({ do: "changed" }, log("x")));
    expect(await first.message()).toMatchObject({
      method: "notifications/resources/list_changed",
    });
    const second = await listened(client);
    await first.rest();
    await second.drop();
  });
});
