import { isAboutRefusals } from "../../worker/server.ts";
import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { accept, clock, limited, prepare, ROOTS } from "../../worker/calls/client.ts";
import { pause } from "../../worker/calls/faults.ts";
import { ELICIT, HOUR, http, log, saidIn, steps } from "../../worker/calls/plans.ts";
import { Events, messageIn, type SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import {
  begin,
  faultOf,
  listened,
  objectOf,
  planned,
  started,
  startedTask,
  tell,
  textOf,
} from "../../worker/mcp/legacy/session-steps.ts";
import { eventually } from "../../worker/waiting.ts";

/** How much a session takes and keeps, and what becomes of the rest. */
prepare();

const countOf = (client: SessionClient, table: string): Promise<number> =>
  runInDurableObject(objectOf(client), (_instance, { storage }) => {
    const counted = storage.sql.exec<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`);
    return counted.one().count;
  });

describe("too much", () => {
  test("calls that run in its object", async () => {
    limited({ sessionCalls: 2 });
    const client = await begin({ ticket: false });
    // Neither do calls whose client has gone, once they wait in a task, keep others out.
    for (let call = 0; call < 3; call++) {
      const events = await planned(client, ELICIT);
      await events.message();
      await events.drop();
    }
    const gate = { isOpen: false };
    const fetched = vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
      while (!gate.isOpen) await pause();
      return new Response("there");
    });
    const fetching = steps(http("GET", "/"));
    const running = [client.call("plan", fetching), client.call("plan", fetching)];
    await eventually(() => expect(fetched).toHaveBeenCalledTimes(2));
    const refused = await faultOf(await client.call("greet", { name: "Ada" }));
    expect(refused).toEqual({
      status: 200,
      code: -32600,
      text: expect.stringContaining("Too many open calls in this session (limit 2 running)"),
    });
    gate.isOpen = true;
    for (const call of running) expect((await messageIn(await call))["result"]).toBeDefined();
    expect((await messageIn(await client.call("greet", { name: "Ada" })))["result"]).toBeDefined();
  });

  test("calls that wait", async () => {
    limited({ sessionTasks: 2 });
    const client = await begin();
    const [one, two] = [await planned(client, ELICIT), await planned(client, ELICIT)];
    const ids = [(await one.message())["id"], (await two.message())["id"]];
    const refused = await faultOf(await client.call("plan", steps(ELICIT)));
    expect(refused).toEqual({
      status: 200,
      code: -32600,
      text: expect.stringContaining("limit 2 waiting"),
    });
    expect((await client.answer(ids[0], accept("x"))).status).toBe(202);
    await one.rest();
    expect((await messageIn(await client.call("greet", { name: "Ada" })))["result"]).toBeDefined();
    await client.answer(ids[1], accept("x"));
    expect(saidIn(await two.message())).toEqual(["x"]);
  });

  test("tasks, until their time is over", async () => {
    limited({ sessionTasks: 2 });
    const client = await begin();
    for (const ttl of [HOUR, 2 * HOUR]) {
      await startedTask(client, "plan_required", steps(), { ttl });
    }
    const begun = () => started(client, "plan_required", steps(), { ttl: HOUR });
    expect((await begun())["error"]).toMatchObject({
      code: -32600,
      message: expect.stringContaining("Too many tasks in this session (limit 2)"),
    });
    clock.aheadMs += HOUR + 1;
    expect((await begun())["error"]).toBeUndefined();
    expect((await begun())["error"]).toBeDefined();
  });

  test("changes of the client's roots: each ends what servlets do about the one before it", async () => {
    const client = await begin();
    const own = await listened(client);
    const asked: unknown[] = [];
    const next = async (method: string) => {
      let message = await own.message();
      while (message["method"] !== method) message = await own.message();
      return message;
    };
    // Two of the servlets want to know.
    for (let change = 0; change < 5; change++) {
      await client.notify("notifications/roots/list_changed");
      asked.push((await next("roots/list"))["id"], (await next("roots/list"))["id"]);
    }
    await eventually(async () => expect(await countOf(client, "calls")).toBe(2));
    expect(await countOf(client, "asks")).toBe(2);
    for (const id of asked.slice(-2)) await client.answer(id, ROOTS);
    for (let servlet = 0; servlet < 2; servlet++) {
      expect(textOf(await next("notifications/message"))).toContain("file:///a");
    }
    await eventually(async () => expect(await countOf(client, "calls")).toBe(0));
    await own.drop();
  });

  test("characters of subscriptions", async () => {
    limited({ sessionSubscriptionCharacters: 200 });
    const client = await begin();
    const subscribe = async (uri: string) =>
      messageIn(await client.request("resources/subscribe", { uri }));
    const [one, two] = [`test://${"a".repeat(90)}`, `test://${"b".repeat(90)}`];
    expect((await subscribe(one))["result"]).toEqual({});
    expect((await subscribe(two))["result"]).toEqual({});
    expect((await subscribe("test://c"))["error"]).toMatchObject({
      message: expect.stringContaining("200 characters"),
    });
    expect((await subscribe(one))["result"]).toEqual({});
    await client.request("resources/unsubscribe", { uri: one });
    expect((await subscribe("test://c"))["result"]).toEqual({});
  });

  test("subscriptions", async () => {
    limited({ sessionSubscriptions: 2 });
    const client = await begin();
    const subscribe = async (uri: unknown) =>
      messageIn(await client.request("resources/subscribe", { uri }));
    for (const uri of ["test://a", "test://b", "test://a"]) {
      expect((await subscribe(uri))["result"]).toEqual({});
    }
    expect((await subscribe("test://c"))["error"]).toMatchObject({
      code: -32600,
      message: expect.stringContaining("limit 2,"),
    });
    expect((await subscribe("test://b"))["result"]).toEqual({});
    await client.request("resources/unsubscribe", { uri: "test://a" });
    expect((await subscribe("test://c"))["result"]).toEqual({});
    for (const uri of [undefined, 7, null, ["test://a"]]) {
      expect((await subscribe(uri))["error"]).toMatchObject({ code: -32602 });
    }
  });

  test("of which the client reads nothing: the oldest notifications are dropped, and nothing else", async () => {
    limited({ sessionEvents: 50 });
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const client = await begin();
    const events = await planned(client, ELICIT);
    const priming = await events.next();
    const { id } = await events.message();
    await events.drop();
    await client.answer(id, accept("x"));
    await eventually(async () => expect(await countOf(client, "events")).toBe(2));
    const done = await planned(client, log("gone"), ELICIT);
    await done.next();
    await done.message();
    const asked = await done.next();
    await tell(client, ...Array.from({ length: 300 }, (_, at) => `${at}`));
    const kept = await runInDurableObject(objectOf(client), (_instance, { storage }) => {
      const count = (table: string) =>
        storage.sql.exec<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`).one().count;
      return { events: count("events"), texts: count("texts") };
    });
    expect(kept.events).toBe(50);
    expect(kept.texts).toBeLessThan(60);
    expect(warn.mock.calls.flat().filter((line) => !isAboutRefusals(line))).toHaveLength(1);
    const own = new Events(await client.listen());
    const texts: string[] = [];
    while (texts.at(-1) !== "299") texts.push(textOf(await own.message()));
    // Beside two questions and a result.
    expect(texts).toEqual(Array.from({ length: 47 }, (_, at) => `${300 - 47 + at}`));
    await own.drop();
    const again = new Events(await client.listen(priming?.id));
    const said = (await again.rest()).flatMap(({ message }) => message ?? []);
    expect(said.map(({ method, result }) => method ?? result.structuredContent.said)).toEqual([
      "elicitation/create",
      ["x"],
    ]);
    await client.answer(asked?.message?.["id"], accept("y"));
    expect(saidIn(await done.message())).toEqual([null, "y"]);
  });

  test("for a client that reads nothing and comes back: what waited for it is dropped", async () => {
    const text = "x".repeat(400_000);
    limited({ sessionEventBytes: 5_000_000 });
    const client = await begin();
    const own = await listened(client);
    const priming = await own.next();
    await own.drop();
    for (let at = 0; at < 10; at++) await tell(client, `${at}${text}`);
    const unread: Events[] = [];
    for (let at = 0; at < 6; at++) unread.push(new Events(await client.listen(priming?.id)));
    const newest = unread.at(-1)!;
    for (let at = 0; at < 10; at++) expect(textOf(await newest.message())).toBe(`${at}${text}`);
    const ends = await Promise.allSettled(unread.slice(0, -1).map((one) => one.rest()));
    expect(ends.filter(({ status }) => status === "fulfilled").length).toBeLessThan(2);
    await newest.drop();
  });

  test("on many streams that nobody reads: the oldest break off", async () => {
    limited({ sessionEventBytes: 800_000 });
    const client = await begin();
    const text = "x".repeat(200_000);
    const unread: Response[] = [];
    for (let call = 0; call < 12; call++) {
      unread.push(await client.call("plan", steps(log(`1${text}`), log(`2${text}`), ELICIT)));
    }
    await eventually(async () => expect(await countOf(client, "asks")).toBe(12));
    const read = unread.map(async (response) => {
      const events = new Events(response);
      for (;;) if ((await events.message())["method"] === "elicitation/create") return "asked";
    });
    const ends = await Promise.allSettled(read);
    expect(ends[0]!.status).toBe("rejected");
    expect(ends.filter(({ status }) => status === "fulfilled").length).toBeLessThan(6);
    expect(ends.at(-1)).toEqual({ status: "fulfilled", value: "asked" });
  });

  test("for a client that reads too slowly: its stream ends, and it can come back for the rest", async () => {
    const client = await begin();
    const slow = new Events(await client.listen());
    const priming = await slow.next();
    const text = "x".repeat(limits.listenBacklogBytes / 2);
    for (let at = 0; at < 8; at++) await tell(client, `${at}${text}`);
    const read = await slow.rest();
    expect(read.length).toBeLessThan(8);
    const again = new Events(await client.listen(read.at(-1)?.id ?? priming?.id));
    for (let at = read.length; at < 8; at++)
      expect(textOf(await again.message())).toBe(`${at}${text}`);
    await tell(client, "and more");
    expect(textOf(await again.message())).toBe("and more");
    await again.drop();
  });
});
