import { describe, expect, test } from "vitest";
import { GET_RESULT } from "../../../src/server/kernel/servlets/scopes.ts";
import { callOf, limited, prepare, textIn } from "../../worker/calls/client.ts";
import { ELICIT, steps } from "../../worker/calls/plans.ts";
import { browser } from "../../worker/pages/browser.ts";
import { at, profiled } from "../../worker/profiles.ts";

/** Links at the endpoint of a profile. */
prepare();

const server = profiled();
describe("what began at one endpoint is at no other", () => {
  test("a call with a link, whose result is asked for by get_result", async () => {
    limited({ resultWaitMs: 0 });
    const linking = profiled({ LINKS: "on" });
    const from = { server: at("support", linking), capabilities: {} };
    const { result } = await callOf("plan", steps(ELICIT), from);
    const { id } = result!["structuredContent"];
    for (const other of [at("plans", linking), linking]) {
      const got = await callOf(GET_RESULT, { id }, { ...from, server: other });
      expect(textIn(got)).toContain("No call with this id");
    }
    expect(textIn(await callOf(GET_RESULT, { id }, from))).not.toContain("No call with this id");
  });

  test("a call with a link, which its person opens while the key may use the profile", async () => {
    const hash = new Uint8Array(
      await crypto.subtle.digest("SHA-256", new TextEncoder().encode("desk")),
    ).toHex();
    const having = (...scopes: string[]) =>
      profiled({ LINKS: "on", API_KEYS: JSON.stringify({ desk: { hash, scopes } }) });
    const headers = { authorization: "Bearer desk" };
    const from = { server: at("support", having("profile:support")), headers, capabilities: {} };
    const { id } = (await callOf("plan", steps(ELICIT), from)).result!["structuredContent"];
    const opened = async (app: typeof server) => {
      const person = browser(app);
      await person.send("/sign-in", { credential: "desk" });
      return (await person.fetch(`/ask/${id}`)).text;
    };
    expect(await opened(having("profile:support"))).toContain("Who?");
    expect(await opened(having("profile:plans"))).not.toContain("Who?");
    const lost = { ...from, server: at("plans", having("profile:plans")) };
    expect(textIn(await callOf(GET_RESULT, { id }, lost))).toContain("No call with this id");
  });
});
