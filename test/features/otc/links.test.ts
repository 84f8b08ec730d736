// @module-tag people
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { serverOf as keyedServerOf } from "../../worker/auth/key-holders.ts";
import { as, prepare, type Json } from "../../worker/calls/client.ts";
import { ELICIT, steps } from "../../worker/calls/plans.ts";
import { bundleWaiting, WAITING } from "../../worker/calls/waiting-servlets.ts";
import { browser, server } from "../../worker/pages/browser.ts";
import { call, failureOf, list, post, serverOf, valueOf } from "./client.ts";

/** Calls that ask their caller's user, who gets a link. */
prepare();

test.each([undefined, "call-1"])("a person answers a call with the call_id %j", async (call_id) => {
  const input = steps(ELICIT);
  const error = failureOf(
    await call("durable.plan", input, { ...(call_id && { call_id }) }, server),
  );
  expect(error).toMatchObject({ can_retry: true });
  const [, url, id] = /open (\S+), then call server\.get_result with id (\S+)\./.exec(
    error["additional_prompt_content"],
  )!;
  await browser().answer(url!, { f0: "Ada" });
  const value = valueOf(await call("server.get_result", { id }, {}, server)) as Json;
  expect(value["said"]).toEqual(["Ada"]);
});

test("a person enters a secret, which the call then gets", async () => {
  const ada = "ada-of-tools";
  const at = await keyedServerOf({ [ada]: {} }, {});
  const otc = (tool_id: string, input: Json) =>
    post({ request: { tool_id, input } }, at, as(ada).headers);
  const ask = { do: "ask_secret", name: "deepl", message: "Your key of DeepL" };
  const failure = failureOf(await otc("durable.plan", steps(ask)));
  const [, url, id] = /open (\S+), then call \S+ with id (\S+)\./.exec(
    failure["additional_prompt_content"],
  )!;
  const person = browser(at);
  await person.send("/sign-in", { credential: ada });
  const page = await person.fetch(url!);
  const asked = page.response.headers.get("location") ?? url!;
  const { hidden } = await person.fetch(asked);
  await person.send(asked, { ...hidden, secret: "of-ada", decision: "accept" });
  const value = valueOf(await otc("server.get_result", { id })) as Json;
  expect(value["said"]).toEqual(["of-ada"]);
});

test("a call with credentials of its caller is not stored, and gets no link", async () => {
  const context = {
    authorization: [{ id: "google", token: "lent" }],
    secrets: [{ id: "TWILIO_API_KEY", value: "lent" }],
    user_id: "ada",
  };
  const answer = await call("otc.Leak", { how: "ask" }, { context }, server);
  expect(failureOf(answer)["message"]).toContain("cannot be asked");
  expect(JSON.stringify(answer)).not.toContain("/ask/");
});

// Callers wait for answers without a stream.
test.each(WAITING)(
  "get_result is listed as it should beside a servlet %s",
  async (_what, known, _streams, isListed) => {
    const { items } = await list(serverOf(bundleWaiting(known), env));
    const ids = (items as { id: string }[]).map(({ id }) => id);
    expect(ids.some((id) => id.startsWith("server.get_result"))).toBe(isListed);
  },
);
