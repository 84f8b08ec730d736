import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { as, callOf, limited, prepare, textIn, type Json } from "../../worker/calls/client.ts";
import { objectOf } from "../../worker/calls/faults.ts";
import { ELICIT, saidIn } from "../../worker/calls/plans.ts";
import { eventually } from "../../worker/waiting.ts";
import { browser } from "../../worker/pages/browser.ts";
import { accountOf, ASK, callers, enter, KEPT, signedIn } from "../../worker/pages/secret-steps.ts";

/** The account in which people see, replace and delete their secrets. */

prepare();
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

describe("the account", () => {
  test("shows secrets by name, which are replaced and deleted, and waiting calls; and signs out", async () => {
    const { ada, eve, at, plan } = await callers("account-");
    const person = await signedIn(at, ada);
    const empty = await person.fetch("/account");
    expect(empty.text).toContain(`You are signed in as ${ada}`);
    expect(empty.text).toContain("Kept secrets None");
    const { id, url } = (await plan([ASK, ELICIT])).result!["structuredContent"];
    await enter(person, url, "of-ada");
    const full = await person.fetch("/account");
    expect(full.text).toMatch(
      /Waiting for you plan [^]* Answer plan Your calls 1 waiting for you, 0 running, \d ended\./,
    );
    expect(full.html).toContain(`href="/ask/${id}"`);
    expect(full.text).toContain("deepl durable just now");
    expect(full.text).not.toContain("of-ada");
    const other = await signedIn(at, eve);
    expect((await other.fetch("/account")).text).toContain("Kept secrets None");

    const of = { servlet: "durable", name: "deepl" };
    const { token } = full.hidden;
    const replacing = await person.send("/account", { token, ...of, do: "replace" });
    expect(replacing.text).toContain("asks for deepl");
    const path = await person.fetch("/account", {
      method: "POST",
      body: new URLSearchParams({ token: token!, ...of, do: "replace" }),
      headers: { origin: person.origin },
    });
    await enter(person, path.response.headers.get("location")!, "new");
    expect(saidIn(await plan([KEPT]))).toEqual(["new"]);
    const forged = await other.send("/account", { token, ...of, do: "forget" });
    expect(forged.status).toBe(403);
    const sure = await person.send("/account", { token, ...of, do: "ask-forget" });
    expect(sure.text).toContain("Delete deepl? durable can no longer use it");
    expect(saidIn(await plan([KEPT]))).toEqual(["new"]);
    const left = await person.send("/account", { ...sure.hidden, do: "forget" });
    expect(left.text).toContain("Kept secrets None");
    expect(saidIn(await plan([KEPT]))).toEqual([null]);

    await person.answer(url, { f0: "Ada" });
    const over = await person.send("/sign-out", {});
    expect(over.text).toContain("You are signed out");
    expect((await person.fetch("/account")).text).toContain("Sign in to edge-servlets");
  });

  test("shows a call that waits behind many that have ended, and forgets all of them", async () => {
    limited({ shownCalls: 2, resultWaitMs: 50 });
    const { ada, at, plan, result } = await callers("account-");
    const person = await signedIn(at, ada);
    const waiting = (await plan([ELICIT])).result!["structuredContent"];
    let over: Json = {};
    for (let nth = 0; nth < 5; nth++) {
      over = (await plan([ELICIT])).result!["structuredContent"];
      await person.answer(over["url"], { f0: "Ada" });
      expect(saidIn(await result(over["id"]))).toEqual(["Ada"]);
    }
    const { html, hidden } = await person.fetch("/account");
    expect(html).toContain(`href="/ask/${waiting["id"]}"`);
    await person.send("/account", { ...hidden, do: "forget-all" });
    for (const id of [waiting["id"], over["id"]])
      expect(await result(id)).toMatchObject({ result: { isError: true } });
  });

  test(
    "forgets a person: secrets, waiting calls, memory and files, and nobody else's",
    { tags: ["state", "usage"] },
    async () => {
      limited({ resultWaitMs: 50 });
      const { ada, eve, at, plan, result } = await callers("account-");
      const count = (who: string) =>
        callOf("counting-next", {}, { server: at, capabilities: {}, ...as(who) }).then(textIn);
      for (const who of [ada, eve]) {
        await accountOf(who).keep(who, { servlet: "durable", name: "deepl" }, `of-${who}`);
        await count(who);
      }
      const waiting = (await plan([ELICIT])).result!["structuredContent"];
      const others = (await plan([ELICIT], eve)).result!["structuredContent"];
      const person = await signedIn(at, ada);
      const { hidden } = await eventually(async () => {
        const page = await person.fetch("/account");
        expect(page.text).toMatch(/keep for you: 1 servlet, counting \([\d.]+ KiB\)/);
        return page;
      });
      const usage = env.USAGE!.getByName("usage");
      const counted = async () =>
        (await usage.report("hour", "caller")).named.map(({ name }) => name);
      await eventually(async () =>
        expect(await counted()).toEqual(expect.arrayContaining([ada, eve])),
      );
      const asked = await person.send("/account", { ...hidden, do: "forget-me" });
      expect(asked.text).toContain("It cannot be undone");
      expect(asked.text).toMatch(
        /1 call, with questions and results 1 secret 0 connected accounts/,
      );
      expect(saidIn(await plan([KEPT]))).toEqual([`of-${ada}`]);
      const over = await person.send("/account", { ...asked.hidden, do: "forget-all" });
      expect(over.text).toContain("You are forgotten");
      expect((await person.fetch("/account")).text).toContain("Sign in to edge-servlets");

      const names = await counted();
      expect([names.includes(ada), names.includes(eve)]).toEqual([false, true]);
      expect(saidIn(await plan([KEPT]))).toEqual([null]);
      expect(saidIn(await plan([KEPT], eve))).toEqual([`of-${eve}`]);
      expect([await count(ada), await count(eve)]).toEqual(["1", "2"]);
      expect(await result(waiting["id"])).toMatchObject({ result: { isError: true } });
      expect(await result(others["id"], eve)).not.toMatchObject({ result: { isError: true } });
      expect(
        await runInDurableObject(objectOf(waiting["id"]), (_task, { storage }) =>
          rowsOf(storage.sql),
        ),
      ).toEqual([]);
    },
  );

  test("nobody has one where no authentication is required", async () => {
    const page = await browser().fetch("/account");
    expect([page.status, page.text]).toEqual([404, expect.stringContaining("No account")]);
  });
});
