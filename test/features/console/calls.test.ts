/// <reference types="@cloudflare/vitest-plugin/types" />
// @module-tag usage
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, onTestFinished, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import type { EndedCall } from "../../../src/server/kernel/observe/counted.ts";
import { usageOf } from "../../../src/server/features/usage/usage.ts";
import { Counts } from "../../../src/server/features/usage/counts.ts";
import { noSums } from "../../../src/server/kernel/observe/counted.ts";
import { bundle } from "../../bundle.gen.ts";
import { hashed, send } from "../../worker/auth/key-holders.ts";
import { newAddress, prepare, send as sendAs, TASKS, ABLE } from "../../worker/calls/client.ts";
import { ELICIT, steps } from "../../worker/calls/plans.ts";
import { browser } from "../../worker/pages/browser.ts";
import { eventually } from "../../worker/waiting.ts";

/** The page of the last calls. */
prepare();

const NAMES = ["ann", "ben", "cat", "dan", "eli", "flo", "gil"].map((name) => `${name}-calls`);
const [ANN = "", BEN = "", CAT = "", DAN = "", ELI = "", FLO = "", GIL = ""] = NAMES;
const BOSS = "boss-calls";
const keys = JSON.parse(await hashed([...NAMES, BOSS])) as Record<string, string>;
const API_KEYS = JSON.stringify({
  ...keys,
  [BOSS]: { hash: keys[BOSS], scopes: ["operator"] },
});
const server = createApp(new Kernel(bundle, { ...env, API_KEYS }));

const PATH = "/console/calls";
const call = (who: string, name: string, args: object = {}) =>
  send(server, who, "tools/call", { name, arguments: args });

async function person(name: string) {
  const one = browser(server);
  await one.send(`/sign-in?back=${PATH}`, { credential: name });
  return one;
}

/** The page as this person sees it, once it has this text. */
const pageWith = async (
  one: Awaited<ReturnType<typeof person>>,
  text: string | RegExp,
  search = "",
) =>
  eventually(async () => {
    const page = await one.fetch(PATH + search);
    expect(page.text).toMatch(text);
    return page;
  });

const taken = { total: noSums(), named: [], errors: [], stored: [], waiting: [] };
const ended = (given: Partial<EndedCall> = {}): EndedCall => ({
  servlet: "hello",
  tool: "greet",
  caller: FLO,
  outcome: "returned",
  at: Date.now(),
  ms: 5,
  task: null,
  error: "",
  ...given,
});

describe("the page", () => {
  test("shows callers their own calls, and operators all, with the error that the caller got", async () => {
    await call(ANN, "greet", { name: "Quokka" });
    await call(ANN, "greet", { name: 7 });
    await call(ANN, "broken");
    await call(BEN, "trap");
    const [ann, ben, boss] = [await person(ANN), await person(BEN), await person(BOSS)];
    const { text, html } = await pageWith(
      ann,
      /Succeeded .*Wrong arguments|Wrong arguments .*Succeeded/,
    );
    expect(text).toMatch(/greet hello \S+ \S+ Succeeded [\d.]+ ms/);
    expect(text).toMatch(/Wrong arguments Tool arguments do not match .*`name` must be a string/);
    expect(text).toMatch(/broken script .*Uncaught exception .*oh no/);
    expect(text).not.toMatch(/trap\b|Quokka/);
    // No filter by callers: there is one.
    expect(html).not.toContain(BEN);
    expect(html).not.toContain('name="caller"');
    expect((await pageWith(ben, "trap faulty")).text).not.toContain("greet");
    const all = await pageWith(boss, new RegExp(`trap faulty .*${BEN} Crashed`));
    expect(all.text).toMatch(new RegExp(`greet hello .* ${ANN} Succeeded`));
    expect(all.text).not.toContain("Quokka");
    const others = await ann.fetch(`${PATH}?caller=${BEN}`);
    expect(others.text).not.toContain("trap");
  });

  test("filters by time, caller, servlet, tool, outcome, duration and text of the error", async () => {
    const now = Date.now();
    const calls = [
      ended({ caller: CAT, tool: "quick", ms: 5 }),
      ended({ caller: CAT, tool: "slow", servlet: "other", ms: 20_000 }),
      ended({ caller: CAT, tool: "old", at: now - 2 * 86_400_000 }),
      ended({ caller: CAT, tool: "wrong", outcome: "refused", error: "No city Kyōto: check it" }),
      ended({ caller: CAT, tool: "fatal", outcome: "trapped", error: "It crashed" }),
      ended({ caller: DAN, tool: "foreign", outcome: "refused", error: "No city" }),
    ];
    await usageOf(env)!().add({ ...taken, calls });
    const tools = async (as: string, search: string) => {
      const { html } = await (await person(as)).fetch(`${PATH}?${search}`);
      return [...html.matchAll(/<th scope="row"><span[^>]*>\s*(\w+)/g)].map(([, tool]) => tool);
    };
    expect(await tools(CAT, "")).toEqual(["fatal", "wrong", "slow", "quick", "old"]);
    expect(await tools(CAT, "over=day&ms=1000")).toEqual(["slow"]);
    expect(await tools(CAT, "over=day&outcome=returned")).toEqual(["slow", "quick"]);
    expect(await tools(CAT, "outcome=failed")).toEqual(["fatal", "wrong"]);
    expect(await tools(CAT, "outcome=refused+servlet_error")).toEqual(["wrong"]);
    expect(await tools(CAT, "servlet=other")).toEqual(["slow"]);
    expect(await tools(CAT, "tool=quick")).toEqual(["quick"]);
    expect(await tools(CAT, "error=CITY+KYŌTO")).toEqual(["wrong"]);
    expect(await tools(CAT, `caller=${DAN}&error=city`)).toEqual(["wrong"]);
    expect(await tools(BOSS, `caller=${DAN}`)).toEqual(["foreign"]);
    expect(await tools(BOSS, "error=no+city&over=hour")).toEqual(["foreign", "wrong"]);
    expect(await tools(CAT, "tool=none")).toEqual([]);
    const odd = `tool=${"%3Cb%3E".repeat(3000)}&over=constructor&ms=-1&before='&outcome=%27`;
    expect(await tools(CAT, odd)).toEqual([]);
  });

  test("lists a hundred calls, and links to the older ones", async () => {
    const calls = Array.from({ length: 250 }, (_, nth) =>
      ended({ caller: ELI, tool: `t${nth}`, at: Date.now() }),
    );
    await usageOf(env)!().add({ ...taken, calls });
    const eli = await person(ELI);
    const seen: string[] = [];
    for (let path: string | undefined = PATH; path !== undefined;) {
      const { html } = await eli.fetch(path);
      seen.push(
        ...[...html.matchAll(/<th scope="row"><span[^>]*>\s*(\w+)/g)].map(([, tool]) => tool!),
      );
      path = /href="([^"]+)"\s*>Older calls/.exec(html)?.[1]?.replaceAll("&amp;", "&");
    }
    expect(seen).toEqual(calls.map(({ tool }) => tool).toReversed());
  });

  test("opens a bounded number of errors at a time to search them, and leads to the older ones", async () => {
    const failed = { caller: GIL, outcome: "refused", error: "No city" };
    const rare = ended({ ...failed, error: "Rare", at: Date.now() - 1000 });
    const calls = Array.from({ length: 1500 }, () => ended(failed));
    await usageOf(env)!().add({ ...taken, calls: [rare, ...calls] });
    const gil = await person(GIL);
    const first = await gil.fetch(`${PATH}?error=rare`);
    expect(first.text).toContain("No call matches among the newest 1,000 errors");
    const [, older] = /href="([^"]+)"\s*>Older calls/.exec(first.html)!;
    const second = await gil.fetch(older!.replaceAll("&amp;", "&"));
    expect(second.html.match(/class="called-error"/g)).toHaveLength(1);
    expect(second.text).not.toContain("Older calls");
  });

  test("lists a call that has waited once it ends, with its whole duration", async () => {
    const headers = { authorization: `Bearer ${DAN}`, "cf-connecting-ip": newAddress() };
    const sent = { server, capabilities: { ...ABLE, ...TASKS }, headers };
    const params = { name: "plan_always", arguments: steps(ELICIT) };
    const { taskId } = (await sendAs("tools/call", params, sent)).result!;
    const dan = await person(DAN);
    expect((await dan.fetch(PATH)).text).not.toContain("plan_always");
    await dan.answer(`/ask/${taskId}`, { f0: "Ada" });
    const { html } = await pageWith(dan, /plan_always durable/);
    expect(html).toContain(`href="/console/live/${taskId}"`);
    expect(html.match(/>plan_always</g)?.length).toBe(2);
  });

  test("redirects a visitor who has not signed in to the sign-in, and shows no calls to anonymous callers", async () => {
    const one = await browser(server).fetch(PATH);
    expect([one.status, one.response.headers.get("location")]).toEqual([
      303,
      "/sign-in?back=%2Fconsole%2Fcalls",
    ]);
    await call(ANN, "greet", { name: "Ada" });
    const open = createApp(new Kernel(bundle, { ...env, AUTH: "none" }));
    const page = await browser(open).fetch(PATH);
    expect(page.status).toBe(403);
    expect(page.text).not.toContain("greet");
    const unbound = createApp(new Kernel(bundle, { ...env, API_KEYS, USAGE: undefined }));
    const ann = browser(unbound);
    await ann.send("/sign-in?back=/", { credential: ANN });
    expect((await ann.fetch(PATH)).text).toContain("Bind the Durable Object USAGE");
  });

  test("is linked from the names and error counts of the page Usage", async () => {
    await call(ANN, "broken");
    const boss = await person(BOSS);
    const { html } = await eventually(async () => {
      const page = await boss.fetch("/console/usage?over=hour&by=tool");
      expect(page.text).toMatch(/\bbroken\b/);
      return page;
    });
    const links = [...html.matchAll(/href="(\/console\/calls[^"]+)"/g)].map(([, path]) =>
      path!.replaceAll("&amp;", "&"),
    );
    expect(links).toContain(`${PATH}?over=hour&outcome=failed`);
    expect(links).toContain(`${PATH}?over=hour&tool=broken`);
    expect(links).toContain(`${PATH}?over=hour&tool=broken&outcome=failed`);
    await pageWith(boss, /broken script/, `?over=hour&tool=broken&outcome=failed`);
  });
});

describe("the log of calls", () => {
  const rows = () =>
    runInDurableObject(usageOf(env)!(), (_one, { storage }) =>
      storage.sql.exec("SELECT * FROM calls").toArray(),
    );

  test("contains no arguments and no results, and errors only sealed", async () => {
    await call(ANN, "greet", { name: "Numbat" });
    await call(ANN, "broken");
    await pageWith(await person(ANN), /oh no/);
    const text = (await rows())
      .map((row) =>
        Object.values(row)
          .map((one) => (one instanceof ArrayBuffer ? new TextDecoder("latin1").decode(one) : one))
          .join(" "),
      )
      .join("\n");
    expect(text).toContain(ANN);
    expect(text).not.toMatch(/Numbat|oh no/);
  });

  test("loses the calls of a caller who is forgotten, including those that isolates send later", async () => {
    await call(FLO, "greet", { name: "Ada" });
    const flo = await person(FLO);
    await pageWith(flo, "greet hello");
    const { hidden } = await flo.fetch("/account");
    const asked = await flo.send("/account", { ...hidden, do: "forget-me" });
    await flo.send("/account", { ...asked.hidden, do: "forget-all" });
    await usageOf(env)!().add({ ...taken, calls: [ended({ tool: "late" })] });
    expect((await rows()).filter(({ caller }) => caller === FLO)).toEqual([]);
  });

  test("is bounded, and a caller who calls often does not displace other callers' calls", async () => {
    const { loggedCalls } = limits;
    configureLimits({ loggedCalls: 100 });
    onTestFinished(() => configureLimits({ loggedCalls }));
    const usage = usageOf(env)!();
    const some = (caller: string, count: number) =>
      usage.add({ ...taken, calls: Array.from({ length: count }, () => ended({ caller })) });
    await runInDurableObject(usage, (_one, { storage }) => storage.sql.exec("DELETE FROM calls"));
    await some("rare", 5);
    for (let round = 0; round < 20; round++) {
      await some("often", 60);
      expect((await rows()).length).toBeLessThanOrEqual(100);
    }
    expect((await rows()).filter(({ caller }) => caller === "rare").length).toBe(5);
    expect((await rows()).length).toBeGreaterThan(80);
    const old = Date.now() - 31 * 86_400_000;
    await usage.add({ ...taken, calls: [ended({ caller: "rare", at: old })] });
    await some("often", 60);
    expect((await rows()).some(({ at }) => at === old)).toBe(false);
  });

  test("gets only the newest calls of a burst in one isolate, with short names and errors", () => {
    const counts = new Counts(10);
    const name = "x".repeat(1_000_000);
    const run = { servlet: name, tool: name, outcome: "returned", ms: 1, fuel: 1 };
    for (let nth = 0; nth < 10_000; nth++) {
      const one = { at: nth, ms: 1, task: null, error: "" };
      counts.add({ ...run, caller: "ada", call: one });
    }
    counts.add({ ...run, caller: name, call: { at: 0, ms: 1, task: null, error: "" } });
    const { calls = [] } = counts.take()!;
    expect(calls.length).toBe(500);
    expect(calls.at(-1)).toMatchObject({ at: 9999, caller: "ada" });
    expect(JSON.stringify(calls).length).toBeLessThan(500_000);
  });
});
