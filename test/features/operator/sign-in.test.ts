// @module-tag state
// @module-tag sign-in
import { describe, expect, test } from "vitest";
import { ownersApp, visitor } from "../../worker/auth/owner.ts";

/** The scope of operators. */

describe("scopes of the server's own sign-in", () => {
  const SCOPES = JSON.stringify({ reader: ["http-status:*"], echo: ["probe:*"] });

  test("operator is for clients that ask for it, and the owner is told what it means", async () => {
    const visit = visitor(await ownersApp({ SCOPES }));
    const show = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await visit.fetch("/operator/state/counting", { headers })).status;
    };
    const everything = await visit.signIn({ scope: "" });
    expect(await show(everything.access_token)).toBe(403);
    const { text } = await visit.open(
      await visit.authorizePath(await visit.register(), { scope: "operator" }),
    );
    expect(text).toContain("it may install and uninstall servlets");
    const operator = await visit.signIn({ scope: "operator" });
    expect(operator.scope).toBe("operator");
    expect(await show(operator.access_token)).toBe(200);
  });
});
