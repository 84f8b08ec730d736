// @module-tag console
import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { callOf, limited, prepare, textIn } from "../../worker/calls/client.ts";
import { hashed } from "../../worker/auth/key-holders.ts";
import { browser } from "../../worker/pages/browser.ts";
import {
  deliver,
  forgetAll,
  github,
  hookServer,
  json,
  objectOf,
  prepareWorld,
  SECRET,
  shownOf,
  untilEffects,
} from "./senders.ts";

/** The pages Webhooks and My webhooks. */
prepare();
prepareWorld();
beforeEach(forgetAll);

const hashes = JSON.parse(await hashed(["ada", "bob", "boss"])) as Record<string, string>;
const API_KEYS = json({ ...hashes, boss: { hash: hashes["boss"], scopes: ["operator"] } });
const server = hookServer({ API_KEYS });
const GITHUB = { hook: "hooked/github", server };

async function signedIn(who: string, page: string, at = server) {
  const own = browser(at);
  await own.send(`/sign-in?back=${page}`, { credential: who });
  return own;
}

/** The fields of the first form with this button. */
function formWith(html: string, button: string): Record<string, string> {
  const form = html.split("<form").find((one) => one.includes(`>${button}`)) ?? "";
  const fields = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)];
  expect(fields.length).toBeGreaterThan(0);
  return Object.fromEntries(fields.map(([, name, value]) => [name!, value!]));
}

const toolOf = async (name: string, args: object, who: string) =>
  textIn(await callOf(name, args, { server, headers: { authorization: `Bearer ${who}` } }));

const PATH = "/console/webhooks";
const OWN_PATH = "/console/my-webhooks";

test("operators see each webhook: its address, how it verifies, its deliveries and those that were refused", async () => {
  await deliver(github("{}"), GITHUB);
  await deliver(github("{}", { secret: "other" }), GITHUB);
  await untilEffects(1);
  await vi.waitFor(async () => expect((await shownOf("github")).refusals).toHaveLength(1));
  const boss = await signedIn("boss", PATH);
  const { text, html } = await boss.fetch(PATH);
  expect(text).toContain("http://localhost:8787/hooks/hooked/github");
  expect(text).toContain("What GitHub tells");
  expect(text).toContain("verified by GitHub's signature with the Worker's HOOK_SECRET");
  expect(text).toContain("takes deliveries from anybody");
  expect(text).toMatch(/1 with a wrong signature/);
  expect(html).toMatch(/<a href="\/ask\/[0-9a-f]{64}">begun<\/a>/);
  expect(html).not.toContain(SECRET);
});

test("operators send a delivery again, which runs once more", async () => {
  await deliver(github(json({ a: 1 })), GITHUB);
  await untilEffects(1);
  const boss = await signedIn("boss", PATH);
  const fields = formWith((await boss.fetch(PATH)).html, "Send again");
  expect((await boss.send(PATH, fields)).text).toContain("sent again");
  const effects = await untilEffects(2);
  expect(effects.map(({ what }) => what.request.body)).toEqual(['{"a":1}', '{"a":1}']);
  // Without the form's token nothing is sent.
  await boss.send(PATH, { ...fields, token: "" });
  expect((await shownOf("github")).deliveries).toHaveLength(2);
});

test("a delivery is sent again once, also if its object dies before it answers", async () => {
  await deliver(github("{}"), GITHUB);
  await untilEffects(1);
  const boss = await signedIn("boss", PATH);
  const fields = formWith((await boss.fetch(PATH)).html, "Send again");
  const object = objectOf("github");
  vi.spyOn(env.HOOKS!, "getByName").mockReturnValueOnce({
    async again(...args: Parameters<typeof object.again>) {
      await object.again(...args);
      throw new Error("It dies.");
    },
  } as unknown as typeof object);
  await boss.send(PATH, fields);
  await untilEffects(2);
  expect((await shownOf("github")).deliveries).toHaveLength(2);
});

test("operators are told of a missing secret", async () => {
  const lacking = hookServer({ API_KEYS, HOOK_SECRET: "" });
  const boss = await signedIn("boss", PATH, lacking);
  const { text } = await boss.fetch(PATH);
  expect(text).toContain("The secret HOOK_SECRET is missing");
  expect(text).toContain("npx wrangler secret put HOOK_SECRET");
});

test("operators see the newest of many deliveries, and how many more there are", async () => {
  for (let nth = 0; nth < 3; nth++) await deliver(github("{}"), GITHUB);
  await untilEffects(3);
  limited({ shownDeliveries: 1 });
  const boss = await signedIn("boss", PATH);
  const { text, html } = await boss.fetch(PATH);
  expect(html.match(/Send again/g)).toHaveLength(1);
  expect(text).toContain("2 earlier ones are not shown.");
});

test("others neither see that page nor send anything again", async () => {
  await deliver(github("{}"), GITHUB);
  await untilEffects(1);
  const boss = await signedIn("boss", PATH);
  const fields = formWith((await boss.fetch(PATH)).html, "Send again");
  const ada = await signedIn("ada", OWN_PATH);
  expect((await ada.fetch(PATH)).status).toBe(403);
  await ada.send(PATH, fields);
  expect((await shownOf("github")).deliveries).toHaveLength(1);
});

test("callers see their own webhooks without the addresses, and revoke them", async () => {
  const url = await toolOf("hook_url", { name: "github" }, "ada");
  const [ada, bob] = [await signedIn("ada", OWN_PATH), await signedIn("bob", OWN_PATH)];
  const { text, html } = await ada.fetch(OWN_PATH);
  expect(text).toContain("hooked/github");
  expect(html).not.toContain(url.split("/").at(-1));
  expect((await bob.fetch(OWN_PATH)).text).toContain("You have no webhooks");
  // A form of one is none of another.
  const fields = formWith(html, "Revoke");
  await bob.send(OWN_PATH, fields);
  expect((await ada.fetch(OWN_PATH)).text).toContain("hooked/github");
  expect((await ada.send(OWN_PATH, fields)).text).toContain("You have no webhooks");
  expect(await toolOf("hook_url", { name: "github" }, "ada")).not.toBe(url);
});

test("a server that knows no callers gives them no webhooks of their own", async () => {
  const { result } = await callOf("hook_url", { name: "github" }, { server: hookServer() });
  expect(result).toMatchObject({ isError: true });
  expect(JSON.stringify(result)).toContain("does not know who is calling");
});

test("what is stored for a caller is deleted with the rest", async () => {
  await toolOf("hook_url", { name: "shop" }, "bob");
  const bob = await signedIn("bob", OWN_PATH);
  expect((await bob.fetch(OWN_PATH)).text).toContain("hooked/shop");
  const { Kernel } = await import("../../../src/server/kernel/kernel.ts");
  const { bundle } = await import("../../bundle.gen.ts");
  await new Kernel(bundle, { ...env, API_KEYS } as typeof env).forgetCaller("bob");
  expect((await bob.fetch(OWN_PATH)).text).toContain("You have no webhooks");
});
