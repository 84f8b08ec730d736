import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import {
  as,
  callOf,
  clock,
  limited,
  prepare,
  send,
  textIn,
  type Json,
} from "../../worker/calls/client.ts";
import { objectOf } from "../../worker/calls/faults.ts";
import { ELICIT, saidIn, steps } from "../../worker/calls/plans.ts";
import { Events, SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import { browser, server } from "../../worker/pages/browser.ts";
import { accountOf, ASK, callers, enter, KEPT, signedIn } from "../../worker/pages/secret-steps.ts";

/** Secrets that servlets ask people for, and the account in which people see, replace and delete them. */
prepare();

const URLS = { elicitation: { url: {} } };

describe("a client that can only call tools", () => {
  test("has its user enter the secret, which is there from then on, for this caller and servlet", async () => {
    const { ada, eve, at, plan, result } = await callers();
    const asked = await plan([ASK, ELICIT]);
    const { id, url } = asked.result!["structuredContent"];
    const person = await signedIn(at, ada);
    const first = await person.fetch(url);
    expect(first.status).toBe(303);
    const page = await person.fetch(first.response.headers.get("location")!);
    expect(page.text).toContain("durable , a servlet of this server, asks for deepl");
    expect(page.text).toContain("Your key of DeepL");
    expect(page.html).toContain('type="password"');
    const next = await enter(person, url, " of-ada\r\n");
    expect(next.text).toContain("The question Who?");
    await person.answer(url, { f0: "Ada" });
    expect(saidIn(await result(id))).toEqual(["of-ada", "Ada"]);
    expect(saidIn(await plan([ASK, KEPT]))).toEqual(["of-ada", "of-ada"]);
    expect(saidIn(await plan([KEPT], eve))).toEqual([null]);
    expect(saidIn(await plan([{ ...KEPT, name: "other" }]))).toEqual([null]);
  });

  test("hears that its user declines", async () => {
    const { ada, at, plan, result } = await callers();
    const { id, url } = (await plan([ASK])).result!["structuredContent"];
    const person = await signedIn(at, ada);
    const { headers } = (await person.fetch(url)).response;
    const { hidden } = await person.fetch(headers.get("location")!);
    await person.send(headers.get("location")!, { ...hidden, decision: "decline" });
    expect(saidIn(await result(id))).toEqual([null]);
  });
});

test("a guest of any language reads it from the keyring, without a user", async () => {
  const { ada, eve, at } = await callers();
  await accountOf(ada).keep(ada, { servlet: "probe", name: "deepl" }, "of-ada");
  const read = async (user: string, who = ada) =>
    textIn(
      await callOf(
        "secret",
        { of: { service: "deepl", user } },
        { server: at, capabilities: {}, ...as(who) },
      ),
    );
  expect(await read("")).toBe("of-ada");
  expect(await read("other")).toBe("");
  expect(await read("", eve)).toBe("");
});

test("is given for no other request that has its mode", async () => {
  const { ada, at } = await callers();
  await accountOf(ada).keep(ada, { servlet: "told", name: "deepl" }, "of-ada");
  const headers = { "mcp-param-through": "sample", ...as(ada).headers };
  const call = { through: "sample", text: '{"mode":"secret","name":"deepl"}' };
  const { error } = await callOf("told", call, { server: at, capabilities: {}, headers });
  expect(error).toMatchObject({ data: { requiredCapabilities: { sampling: {} } } });
});

describe("a client that can open pages", () => {
  const askedBy = async ({ plan }: Awaited<ReturnType<typeof callers>>, step: Json = ASK) => {
    const { result } = await plan([step], undefined, URLS);
    const [[key, { params }]] = Object.entries(result!["inputRequests"]) as [[string, Json]];
    expect(params).toMatchObject({ mode: "url", message: expect.stringContaining(ASK.message) });
    return { key, url: params.url as string, state: result!["requestState"] };
  };

  const acceptedBy = (
    { ada, at }: Awaited<ReturnType<typeof callers>>,
    { key, state }: { key: string; state: string },
    step: Json = ASK,
  ) => {
    const brought = { inputResponses: { [key]: { action: "accept" } }, requestState: state };
    const params = { name: "plan", arguments: steps(step), ...brought };
    return send("tools/call", params, { server: at, capabilities: URLS, ...as(ada) });
  };

  test("is waited for until its user has finished the page", { tags: ["carried"] }, async () => {
    const all = await callers();
    const asked = await askedBy(all);
    const person = await signedIn(all.at, all.ada);
    const answer = acceptedBy(all, asked);
    await scheduler.wait(50);
    const page = await enter(person, asked.url, "of-ada");
    expect(page.text).toContain("The secret is kept");
    expect(saidIn(await answer)).toEqual(["of-ada"]);
  });

  test(
    "is asked again where its user has not, and at last has not given it",
    { tags: ["carried"] },
    async () => {
      limited({ pageMs: 10, secretAsks: 3 });
      const all = await callers();
      const asked = await askedBy(all);
      const keys = [asked.key];
      let { result } = await acceptedBy(all, asked);
      while (result?.["resultType"] === "input_required") {
        const [key = ""] = Object.keys(result["inputRequests"]);
        keys.push(key);
        ({ result } = await acceptedBy(all, { key, state: result["requestState"] }));
      }
      expect(saidIn({ result: result! })).toEqual([null]);
      expect(keys).toEqual(["ask_1", "ask_1_2", "ask_1_3"]);
    },
  );

  test(
    "in a session: it is told that the page is done, by the id of the request",
    { tags: ["sessions"] },
    async () => {
      const { ada, at } = await callers();
      const client = await SessionClient.begin({ server: at, capabilities: URLS, ...as(ada) });
      const events = new Events(await client.call("plan", steps(ASK)));
      const { id, params } = await events.message();
      expect(params).toMatchObject({ mode: "url", elicitationId: expect.any(String) });
      await enter(await signedIn(at, ada), params.url, "of-ada");
      await client.answer(id, { action: "accept" });
      expect(await events.message()).toEqual({
        jsonrpc: "2.0",
        method: "notifications/elicitation/complete",
        params: { elicitationId: params.elicitationId },
      });
      expect(saidIn((await events.message()) as { result: Json })).toEqual(["of-ada"]);
    },
  );

  test(
    "is asked for another one where the servlet wants it replaced",
    { tags: ["carried"] },
    async () => {
      const all = await callers();
      const person = await signedIn(all.at, all.ada);
      await enter(person, (await askedBy(all)).url, "old");
      const step = { ...ASK, replace: true };
      const asked = await askedBy(all, step);
      await enter(person, asked.url, "new");
      expect(saidIn(await acceptedBy(all, asked, step))).toEqual(["new"]);
      expect(saidIn(await all.plan([KEPT]))).toEqual(["new"]);
    },
  );
});

describe("bad input", () => {
  test("a caller that nobody knows is not asked, and never in a form", async () => {
    const { result } = await callOf("plan", steps(ASK), {
      server,
      capabilities: { elicitation: { form: {}, url: {} } },
    });
    expect(JSON.stringify(result)).toContain("does not know who is calling");
  });

  test("an anonymous caller is told which secret the server's owner has to set", async () => {
    const asked = async (name: string) => {
      const settings: object = { ...env, VAULT_PROBE: "" };
      const bare = createApp(new Kernel(bundle, settings));
      const { result } = await callOf("plan", steps({ ...ASK, name }), { server: bare });
      return JSON.stringify(result);
    };
    expect(await asked("vault")).toMatch(
      /needs the secret VAULT_PROBE, which is not set on this server\. .*wrangler secret put VAULT_PROBE.*does not know who is calling/,
    );
    expect(await asked("other")).toMatch(/does not know who is calling.*keys or a sign-in/);
  });

  // Browsers send a line break of a form back as another, and NUL not at all: it could not be deleted at /account.
  test.each([[""], ["n".repeat(257)], ["a\nb"], ["a\u0000b"], ["a\u202eb"]])(
    "a name that is none: %#",
    async (name) => {
      const { plan } = await callers();
      const { result } = await plan([{ ...ASK, name }]);
      expect(JSON.stringify(result)).toContain("needs a name of at most 256 characters");
    },
  );

  test(
    "pages of others, forged ones, old ones, and forms of other pages",
    { tags: ["carried"] },
    async () => {
      const { ada, eve, at, plan } = await callers();
      const { result } = await plan([ASK], ada, URLS);
      const [{ params }] = Object.values(result!["inputRequests"]) as [Json];
      const { url } = params;
      const stranger = browser(at);
      expect((await stranger.fetch(url)).text).toContain("Sign in to edge-servlets");
      expect((await stranger.fetch(url)).text).not.toContain("DeepL");
      const other = await signedIn(at, eve);
      expect((await other.fetch(url)).text).toContain("Not for you");
      const person = await signedIn(at, ada);
      for (const path of ["/secret/x", "/secret/AAAA", `${url}A`, `${url.slice(0, -3)}`])
        expect((await person.fetch(path)).status).toBe(404);
      const { hidden } = await person.fetch("/account");
      const forged = await person.send(url, { ...hidden, secret: "x", decision: "accept" });
      expect(forged.status).toBe(403);
      const { hidden: own } = await person.fetch(url);
      const empty = await person.send(url, { ...own, secret: " ", decision: "accept" });
      expect(empty.status).toBe(422);
      const long = "x".repeat(limits.secretCharacters + 1);
      const large = await person.send(url, { ...own, secret: long, decision: "accept" });
      expect([large.status, large.text]).toEqual([422, expect.stringContaining("too long")]);
      expect(large.html).not.toContain("x".repeat(20));
      expect(saidIn(await plan([KEPT]))).toEqual([null]);
      clock.aheadMs += limits.taskMs + 1;
      expect((await (await signedIn(at, ada)).fetch(url)).status).toBe(404);
    },
  );

  test("more secrets than a person may have", { tags: ["carried"] }, async () => {
    limited({ keptSecrets: 1 });
    const { ada, at, plan } = await callers();
    const person = await signedIn(at, ada);
    for (const [name, status] of [
      ["one", 200],
      ["one", 200],
      ["two", 409],
    ] as const) {
      const { result } = await plan([{ ...ASK, name, replace: true }], ada, URLS);
      const [{ params }] = Object.values(result!["inputRequests"]) as [Json];
      expect((await enter(person, params.url, "x")).status).toBe(status);
    }
  });
});

test("no secret lies in the clear in what is stored", async () => {
  limited({ resultWaitMs: 0 });
  const { ada, at, plan, result } = await callers();
  const { id, url } = (await plan([ASK, ELICIT])).result!["structuredContent"];
  await enter(await signedIn(at, ada), url, "of-ada-in-the-clear");
  expect(saidIn(await plan([KEPT]))).toEqual(["of-ada-in-the-clear"]);
  await result(id);
  for (const object of [accountOf(ada), objectOf(id)]) {
    const stored = await runInDurableObject(object, (_instance, { storage }) =>
      rowsOf(storage.sql),
    );
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.join("\n")).not.toContain("in-the-clear");
  }
});

/** All rows of all tables, as text. */
function rowsOf(sql: SqlStorage): string[] {
  const tables = sql
    .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
    .toArray()
    .filter(({ name }) => !name.startsWith("_"));
  return tables.flatMap(({ name }) =>
    sql
      .exec(`SELECT * FROM "${name}"`)
      .toArray()
      .map((row) =>
        Object.values(row)
          .map((one) => (one instanceof ArrayBuffer ? new TextDecoder("latin1").decode(one) : one))
          .join(" "),
      ),
  );
}

test("servlets do not speak to the server itself", async () => {
  const { plan } = await callers();
  for (const mode of ["account", "secret"]) {
    const params = { mode, name: "deepl", message: "", after: 0, since: 0, ms: "never" };
    const { result } = await plan([
      { do: "ask_as", params },
      { do: "ask_as", params },
    ]);
    expect(JSON.stringify(result)).toMatch(
      /An account is connected by|needs an answer from a person/,
    );
  }
});
