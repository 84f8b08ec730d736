// @module-tag console
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { ShownSchedule } from "../../../src/server/features/schedules/schedule.ts";
import { hashed } from "../../worker/auth/key-holders.ts";
import { bundle } from "../../bundle.gen.ts";
import { callOf, prepare, serverOf, textIn } from "../../worker/calls/client.ts";
import { browser } from "../../worker/pages/browser.ts";

/** The page Schedules, and visitors who send it what it does not show them. */
prepare();

const hashes = JSON.parse(await hashed(["ada", "bob", "boss"])) as Record<string, string>;
const API_KEYS = JSON.stringify({
  ...hashes,
  boss: { hash: hashes["boss"], scopes: ["operator"] },
});
const server = serverOf(bundle, { API_KEYS });
const PATH = "/console/schedules";
const listed = (owner: string): Promise<ShownSchedule[]> => env.SCHEDULES!.getByName(owner).list();

async function signedIn(who: string) {
  const own = browser(server);
  await own.send(`/sign-in?back=${PATH}`, { credential: who });
  return own;
}

/** The token of the page's forms. */
async function tokenOf(visitor: Awaited<ReturnType<typeof signedIn>>): Promise<string> {
  const [, token = ""] =
    /name="token" value="([^"]+)"/.exec((await visitor.fetch(PATH)).html) ?? [];
  expect(token).not.toBe("");
  return token;
}

const later = (who: string, id: string) =>
  callOf(
    "waking-later",
    { id, every: 3_600_000, text: `of ${who}` },
    { server, headers: { authorization: `Bearer ${who}` } },
  );

test("callers see and change their own schedules alone", async () => {
  for (const who of ["ada", "bob"]) expect(textIn(await later(who, `it-${who}`))).toContain("next");
  const bob = await signedIn("bob");
  const { text } = await bob.fetch(PATH);
  expect(text).toContain("it-bob");
  expect(text).not.toContain("it-ada");
  expect(text).not.toContain("Of servlets");
  const token = await tokenOf(bob);
  const pause = { do: "pause", servlet: "waking" };
  for (const [owner, id] of [
    ["ada", "it-ada"],
    ["servlet:waking", "plain"],
    ["", "it-ada"],
  ])
    expect((await bob.send(PATH, { ...pause, token, owner: owner!, id: id! })).text).toContain(
      "This schedule belongs to somebody else",
    );
  // Another site's form has no token.
  await bob.send(PATH, { ...pause, token: "", owner: "bob", id: "it-bob" });
  for (const who of ["ada", "bob"]) expect((await listed(who))[0]).not.toHaveProperty("paused");
  await bob.send(PATH, { ...pause, token, owner: "bob", id: "it-bob" });
  expect((await listed("bob"))[0]).toHaveProperty("paused");
});

test("operators see schedules that servlets have made, and why one cannot go on", async () => {
  const maker = { principal: { name: "servlet:hooked" }, made: Date.now() };
  const object = env.SCHEDULES!.getByName("servlet:hooked");
  await object.declare("hooked", [
    { id: "bad", servlet: "hooked", timing: { cron: "nonsense" }, isDeclared: true, ...maker },
  ]);
  const timing = { every: 3_600_000 };
  await object.put({
    id: "made",
    servlet: "hooked",
    tool: "x",
    timing,
    isDeclared: false,
    ...maker,
  });
  const boss = await signedIn("boss");
  expect((await boss.fetch(PATH)).text).toContain("made");
  const form = {
    token: await tokenOf(boss),
    owner: "servlet:hooked",
    servlet: "hooked",
    id: "bad",
  };
  expect((await boss.send(PATH, { ...form, do: "resume" })).text).toContain("cron line");
  expect((await boss.send(PATH, { ...form, do: "explode" })).text).toContain("no such button");
});
