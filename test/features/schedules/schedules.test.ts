import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { ShownSchedule } from "../../../src/server/features/schedules/schedule.ts";
import {
  clock,
  keyed,
  limited,
  newAddress,
  prepare,
  serverOf,
  textIn,
} from "../../worker/calls/client.ts";
import { modern, post, answerOf, type Answer } from "../../worker/server.ts";
import type { HandedOver } from "../../../src/server/kernel/calls/task-object.ts";
import { bundle } from "../../bundle.gen.ts";
import { objectOf } from "../../worker/calls/faults.ts";
import { eventually } from "../../worker/waiting.ts";

/** Servlets that run at set times. */
prepare();

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const OWNER = "servlet:waking";
const of = (owner: string) => env.SCHEDULES!.getByName(owner);

const server = serverOf(bundle);
const called = (name: string, args: object = {}, as: Record<string, string> = {}, to = server) => {
  const { body, headers } = modern("tools/call", { name: `waking-${name}`, arguments: args });
  return post(body, { ...headers, ...as }, to).then(answerOf);
};
const seen = async () =>
  textIn(await called("seen"))
    .split("\n")
    .filter(Boolean);
const listed = (owner: string): Promise<ShownSchedule[]> => of(owner).list();
const one = async (owner: string, id: string) =>
  (await listed(owner)).find((found) => found.id === id)!;

/** Lets the alarm of an owner's schedules go off at this time (Unix ms), and those of the runs that it begins. */
async function ringAt(owner: string, at: number): Promise<void> {
  const before = new Set(await tasksOf(owner));
  clock.aheadMs += at - Date.now();
  expect(await runDurableObjectAlarm(of(owner))).toBe(true);
  for (const task of await tasksOf(owner))
    if (!before.has(task)) await runDurableObjectAlarm(objectOf(task));
}

const tasksOf = async (owner: string): Promise<string[]> =>
  (await listed(owner)).flatMap(({ runs }) => runs.flatMap(({ task }) => task ?? []));

/** A caller with an address of its own. */
function stranger() {
  const address = newAddress();
  const as = { "cf-connecting-ip": address };
  return {
    owner: `address ${address}`,
    call: (name: string, args: object = {}) => called(name, args, as),
  };
}

const structured = ({ result, error }: Answer) => {
  if (result?.["isError"] === true || error) throw new Error(JSON.stringify(result ?? error));
  return result!["structuredContent"];
};

/** Waits until the schedules of the servlet are known, which is after the first request. */
async function declared(): Promise<void> {
  await called("seen");
  await eventually(async () => {
    if ((await listed(OWNER)).length < 3) throw new Error("They are not known yet.");
  });
}

describe("a schedule of a servlet", () => {
  beforeEach(declared);

  test("is known from the first request on, from its manifest and its script", async () => {
    const all = await listed(OWNER);
    expect(all.map(({ id }) => id).toSorted()).toEqual(["asking", "digest", "plain"]);
    const words = new Intl.DateTimeFormat("en", {
      timeZone: "Europe/Berlin",
      weekday: "short",
      hour: "numeric",
      hour12: false,
    }).format((await one(OWNER, "digest")).next);
    expect(words).toMatch(/^(Mon|Tue|Wed|Thu|Fri),? 08$/);
  });

  test("runs as the servlet, when it is due", async () => {
    const due = (await one(OWNER, "digest")).next!;
    await ringAt(OWNER, due);
    const words = `${OWNER}: digest ${new Date(due).toISOString()}, missed 0`;
    expect(await seen()).toContain(words);
    expect((await one(OWNER, "digest")).next).toBeGreaterThan(due);
  });

  test("calls the tool that the manifest names", async () => {
    await ringAt(OWNER, (await one(OWNER, "plain")).next!);
    expect(await seen()).toContain(`${OWNER}: by manifest, missed 0`);
  });

  test("is made up for once, if it was missed, and says so", async () => {
    const due = (await one(OWNER, "plain")).next!;
    await ringAt(OWNER, due + HOUR);
    expect((await seen()).at(-1)).toMatch(/by manifest, missed (59|60)$/);
    const { next, runs } = await one(OWNER, "plain");
    expect(runs[0]).toMatchObject({ missed: expect.any(Number) });
    expect(next).toBeGreaterThan(due + HOUR);
  });
});

test("a schedule whose times no server knows says so, and harms no other", async () => {
  const maker = { principal: { name: "servlet:odd" }, made: Date.now(), isDeclared: true };
  const declaring = (id: string, cron: string) => ({
    id,
    servlet: "odd",
    timing: { cron },
    ...maker,
  });
  await of("servlet:odd").declare("odd", [
    declaring("bad", "nonsense"),
    declaring("good", "@daily"),
  ]);
  expect(await one("servlet:odd", "bad")).toMatchObject({
    paused: expect.stringContaining("cron line"),
  });
  expect(await one("servlet:odd", "good")).toHaveProperty("next");
});

test("a schedule of a servlet that is not served any more goes", async () => {
  const maker = { principal: { name: "servlet:former" }, made: Date.now(), isDeclared: true };
  await of("servlet:former").declare("former", [
    { id: "it", servlet: "former", timing: { every: HOUR }, ...maker },
  ]);
  await ringAt("servlet:former", Date.now() + HOUR);
  expect(await listed("servlet:former")).toEqual([]);
});

/** A schedule of a servlet that is not served, as `declare` and `put` take it. */
const scheduleOf = (servlet: string, id: string, more: object = {}) => ({
  id,
  servlet,
  timing: { every: HOUR },
  principal: { name: `servlet:${servlet}` },
  made: Date.now(),
  isDeclared: true,
  ...more,
});

describe("a schedule that a run of a servlet itself has made", () => {
  const own = (servlet: string) => of(`servlet:${servlet}`);
  const made = { isDeclared: false, tool: "note" };

  test("stays when its manifest is declared again", async () => {
    await own("twin").declare("twin", [scheduleOf("twin", "declared")]);
    await own("twin").put(scheduleOf("twin", "made", made));
    await own("twin").declare("twin", []);
    expect((await listed("servlet:twin")).map(({ id }) => id)).toEqual(["made"]);
  });

  test("replaces and cancels none of its manifest", async () => {
    await own("sly").declare("sly", [scheduleOf("sly", "it")]);
    const replaced = await own("sly").put(scheduleOf("sly", "it", made));
    expect(replaced).toMatchObject({ code: "invalid_params", message: expect.any(String) });
    expect(await own("sly").cancel("sly", "it")).toBe(false);
    expect(await listed("servlet:sly")).toMatchObject([{ id: "it", isDeclared: true }]);
  });
});

test("a schedule that a person has paused stays paused when its manifest changes", async () => {
  const object = of("servlet:changing");
  await object.declare("changing", [scheduleOf("changing", "it")]);
  await object.pause("changing", "it");
  await object.declare("changing", [scheduleOf("changing", "it", { timing: { every: DAY } })]);
  const changed = await one("servlet:changing", "it");
  expect(changed).toMatchObject({
    timing: { every: DAY },
    paused: "Somebody paused it on the page Schedules.",
  });
  expect(changed).not.toHaveProperty("next");
});

test("a schedule whose times no server knows cannot be resumed, and says why", async () => {
  const odd = scheduleOf("odder", "it", { timing: { cron: "nonsense" } });
  await of("servlet:odder").declare("odder", [odd]);
  expect(await of("servlet:odder").resume("odder", "it")).toMatchObject({
    code: "invalid_params",
    message: expect.stringContaining("cron line"),
  });
});

test("an owner without schedules stores nothing", async () => {
  const { owner, call } = stranger();
  const tables = () =>
    runInDurableObject(of(owner), (_, { storage }) =>
      storage.sql
        .exec("SELECT name FROM sqlite_master WHERE name IN ('runs', 'schedules')")
        .toArray(),
    );
  structured(await call("planned"));
  expect(await tables()).toEqual([]);
  structured(await call("later", { every: HOUR, text: "x", id: "it" }));
  expect(await tables()).toHaveLength(2);
  await call("forget", { id: "it" });
  expect(await tables()).toEqual([]);
});

describe("a schedule that a caller has made", () => {
  test("calls the tool as the caller, once or again and again", async () => {
    const { owner, call } = stranger();
    const at = new Date(Date.now() + HOUR).toISOString();
    expect(structured(await call("later", { at, text: "once" }))).toMatchObject({ tool: "note" });
    structured(await call("later", { every: 2 * HOUR, text: "often", id: "often" }));
    await ringAt(owner, Date.now() + HOUR);
    expect(await seen()).toContain("anonymous: once, missed 0");
    await ringAt(owner, (await one(owner, "often")).next!);
    expect(await seen()).toContain("anonymous: often, missed 0");
    const { all } = structured(await call("planned"));
    expect(all).toHaveLength(2);
    expect(all).toContainEqual(expect.objectContaining({ id: "often", every: 2 * HOUR }));
    expect(all).toContainEqual(expect.objectContaining({ at, next: null }));
  });

  test("is replaced by one with its id, and cancelled by it", async () => {
    const { owner, call } = stranger();
    for (const text of ["first", "second"])
      structured(await call("later", { every: HOUR, text, id: "it" }));
    expect(await listed(owner)).toMatchObject([{ id: "it", arguments: { text: "second" } }]);
    expect(textIn(await call("forget", { id: "it" }))).toBe("true");
    expect(textIn(await call("forget", { id: "it" }))).toBe("false");
    expect(await listed(owner)).toEqual([]);
  });

  test("is of its caller alone", async () => {
    const [ada, bob] = [stranger(), stranger()];
    structured(await ada.call("later", { every: HOUR, text: "hers", id: "hers" }));
    expect(structured(await bob.call("planned"))).toEqual({ all: [] });
    expect(textIn(await bob.call("forget", { id: "hers" }))).toBe("false");
    expect(await listed(ada.owner)).toHaveLength(1);
  });

  test.each([
    ["without a time", {}, /needs one of at, every and cron/],
    ["with two times", { every: HOUR, cron: "0 8 * * *" }, /needs one of at, every and cron/],
    ["in the past", { at: "2001-09-09T01:46:40Z" }, /is over, or there is no such day/],
    ["on a day that does not exist", { cron: "0 0 31 2 *" }, /is over, or there is no such day/],
    ["in a far age", { at: "9999-01-01T00:00:00Z" }, /in more than ten years/],
    ["on a day that is no date", { at: "2027-02-30T08:00" }, /write a date and a time/],
    ["at a time in words", { at: "tomorrow" }, /write a date and a time/],
    ["each second", { cron: "* * * * * *" }, /cron line/],
    ["each second, as a period", { every: 1000 }, /from 60000/],
    ["with a period beyond numbers", { every: 1e300 }, /from 60000/],
    ["with an odd cron line", { cron: "61 * * * *" }, /cron line/],
    [
      "in a time zone that does not exist",
      { cron: "0 8 * * *", timeZone: "Mars/Base" },
      /time zone/,
    ],
    ["of a tool that does not exist", { every: HOUR, tool: "nothing" }, /no tool nothing/],
    ["of another servlet's tool", { every: HOUR, tool: "greet" }, /no tool greet/],
    ["with arguments that do not fit", { every: HOUR, tool: "crowd" }, /count/],
    ["with an odd id", { every: HOUR, id: "a b" }, /id must be/],
    ["that is very large", { every: HOUR, text: "x".repeat(20_000) }, /limit 16384/],
  ])("%s is refused, with what to do", async (_, args, message) => {
    const { owner, call } = stranger();
    const { result } = await call("later", { text: "no", ...args });
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toMatch(message);
    expect(await listed(owner)).toEqual([]);
  });

  test("is refused beyond the limit", async () => {
    const { owner, call } = stranger();
    limited({ schedules: 3 });
    expect(JSON.stringify(await call("crowd", { count: 4 }))).toContain("which is the limit");
    expect(await listed(owner)).toHaveLength(3);
  });

  test("beyond the limit takes the place of one that is over", async () => {
    const { owner, call } = stranger();
    limited({ schedules: 2 });
    const once = (id: string, hours: number) => {
      const at = new Date(Date.now() + hours * HOUR).toISOString();
      return call("later", { at, text: id, id });
    };
    structured(await once("first", 1));
    structured(await once("second", 2));
    expect(JSON.stringify(await once("third", 3))).toContain("which is the limit");
    await ringAt(owner, Date.now() + 2 * HOUR);
    structured(await once("third", 3));
    expect((await listed(owner)).map(({ id }) => id).toSorted()).toEqual(["second", "third"]);
  });

  test("is due no more often than the limit allows, by a cron line either", async () => {
    const { owner, call } = stranger();
    limited({ scheduleMs: HOUR });
    for (const cron of ["* * * * *", "0,59 * * * *"])
      expect(JSON.stringify(await call("later", { cron, text: "x" }))).toContain("too often");
    structured(await call("later", { cron: "30 * * * *", text: "x", id: "hourly" }));
    expect((await listed(owner)).map(({ id }) => id)).toEqual(["hourly"]);
  });

  test("is paused if the limit is raised above its period, and says so", async () => {
    const { owner, call } = stranger();
    structured(await call("later", { every: HOUR, text: "x", id: "it" }));
    limited({ scheduleMs: 2 * HOUR });
    await ringAt(owner, Date.now() + HOUR);
    const paused = await one(owner, "it");
    expect(paused).toMatchObject({ paused: expect.stringContaining("from 7200000") });
    expect(paused).not.toHaveProperty("next");
  });

  test("ends with what its caller has stored", async () => {
    const { owner, call } = stranger();
    structured(await call("later", { every: HOUR, text: "gone" }));
    await of(owner).forgetAll();
    expect(await listed(owner)).toEqual([]);
  });
});

describe("the rights of a schedule", () => {
  const as = (key: string) => ({ authorization: `Bearer ${key}` });

  test("are those that its maker has when it runs", async () => {
    const keyring = await keyed("ada");
    structured(await called("later", { every: HOUR, text: "hers", id: "it" }, as("ada"), keyring));
    // The objects' own server requires no authentication: no key is valid there.
    await ringAt("ada", Date.now() + HOUR);
    const { runs, next } = await one("ada", "it");
    expect(runs[0]).toMatchObject({ why: "ada may not call this server any more." });
    expect(runs[0]).not.toHaveProperty("task");
    expect(next).toBeGreaterThan(Date.now());
    expect((await seen()).join()).not.toContain("hers");
  });

  test("that are gone for long pause it", async () => {
    limited({ refusedRuns: 2 });
    const keyring = await keyed("eve");
    structured(await called("later", { every: HOUR, text: "hers", id: "it" }, as("eve"), keyring));
    for (let nth = 0; nth < 2; nth++) await ringAt("eve", (await one("eve", "it")).next!);
    const paused = await one("eve", "it");
    expect(paused).toMatchObject({ paused: "eve may not call this server any more." });
    expect(paused).not.toHaveProperty("next");
    await of("eve").resume("waking", "it");
    expect(await one("eve", "it")).toHaveProperty("next");
  });
});

describe("runs of a schedule", () => {
  test("are not doubled while one still goes", async () => {
    const { owner, call } = stranger();
    structured(await call("later", { every: HOUR, tool: "wait", text: "", id: "slow" }));
    await ringAt(owner, (await one(owner, "slow")).next!);
    await ringAt(owner, (await one(owner, "slow")).next!);
    const { runs, next } = await one(owner, "slow");
    expect(runs.map(({ task }) => task !== undefined)).toEqual([false, true]);
    expect(runs[0]).toMatchObject({ why: "The previous run is still going." });
    expect(next).toBeGreaterThan(Date.now());
    const conflict = await of(owner).runNow("waking", "slow");
    expect(conflict).toMatchObject({ code: "conflict" });
  });

  test("are shown, however many due times one outlasts", async () => {
    const { owner, call } = stranger();
    limited({ shownRuns: 2 });
    structured(await call("later", { every: HOUR, tool: "wait", text: "", id: "slow" }));
    for (let nth = 0; nth < 4; nth++) await ringAt(owner, (await one(owner, "slow")).next!);
    const { runs } = await one(owner, "slow");
    expect(runs).toMatchObject([
      { why: "The previous run is still going.", missed: 2 },
      { task: expect.any(String) },
    ]);
    const { all } = structured(await call("planned"));
    expect(all).toMatchObject([{ last: new Date(runs[1]!.at).toISOString() }]);
  });

  test("are not doubled by replacing the schedule while one still goes", async () => {
    const { owner, call } = stranger();
    const slow = { every: HOUR, tool: "wait", text: "", id: "slow" };
    structured(await call("later", slow));
    await ringAt(owner, (await one(owner, "slow")).next!);
    structured(await call("later", slow));
    await ringAt(owner, (await one(owner, "slow")).next!);
    expect(await tasksOf(owner)).toHaveLength(1);
  });

  test("that could not begin by hand do not begin later", async () => {
    const { owner, call } = stranger();
    structured(await call("later", { every: HOUR, text: "once in the hour", id: "it" }));
    limited({ keptPerDay: 1 });
    expect(await of(owner).runNow("waking", "it")).toMatchObject({ code: "too_many" });
    limited({ keptPerDay: 50_000 });
    const due = (await one(owner, "it")).next!;
    await ringAt(owner, due);
    expect((await one(owner, "it")).runs).toMatchObject([{ due, task: expect.any(String) }]);
    expect((await seen()).filter((line) => line.includes("once in the hour"))).toHaveLength(1);
  });

  test("that could not begin when due begin once, by hand", async () => {
    const { owner, call } = stranger();
    structured(await call("later", { every: HOUR, text: "held up", id: "it" }));
    const due = (await one(owner, "it")).next!;
    limited({ keptPerDay: 1 });
    await ringAt(owner, due);
    limited({ keptPerDay: 50_000 });
    clock.aheadMs += 1000;
    expect(await of(owner).runNow("waking", "it")).toHaveProperty("value");
    await runDurableObjectAlarm(of(owner));
    const { runs, next } = await one(owner, "it");
    expect(runs).toMatchObject([{ due, missed: 0, task: expect.any(String) }]);
    expect(next).toBe(due + HOUR);
  });

  test("that could not begin before a pause are not made up for after it", async () => {
    const { owner, call } = stranger();
    structured(await call("later", { every: HOUR, text: "paused away", id: "it" }));
    limited({ keptPerDay: 1 });
    await ringAt(owner, (await one(owner, "it")).next!);
    limited({ keptPerDay: 50_000 });
    await of(owner).pause("waking", "it");
    clock.aheadMs += DAY;
    expect(await of(owner).resume("waking", "it")).toHaveProperty("value");
    const due = (await one(owner, "it")).next!;
    await ringAt(owner, due);
    expect((await one(owner, "it")).runs).toMatchObject([{ due, missed: 0 }]);
  });

  test("begin at once by hand, and not while paused by time", async () => {
    const { owner, call } = stranger();
    structured(await call("later", { every: HOUR, text: "by hand", id: "it" }));
    await of(owner).pause("waking", "it");
    clock.aheadMs += DAY;
    await runDurableObjectAlarm(of(owner));
    expect((await one(owner, "it")).runs).toEqual([]);
    expect(await of(owner).runNow("waking", "it")).toHaveProperty("value");
    for (const task of await tasksOf(owner)) await runDurableObjectAlarm(objectOf(task));
    expect((await seen()).filter((line) => line.includes("by hand"))).toHaveLength(1);
  });

  test("are remembered up to a limit", async () => {
    const { owner, call } = stranger();
    structured(await call("later", { every: HOUR, text: "x", id: "it" }));
    limited({ shownRuns: 2 });
    for (let nth = 0; nth < 4; nth++) await ringAt(owner, (await one(owner, "it")).next!);
    expect((await one(owner, "it")).runs).toHaveLength(2);
  });

  test("are neither lost nor doubled where the clock jumps by a day, either way", async () => {
    const { owner, call } = stranger();
    structured(await call("later", { every: HOUR, text: "jumpy", id: "it" }));
    const first = (await one(owner, "it")).next!;
    await ringAt(owner, first);
    await ringAt(owner, first + DAY);
    clock.aheadMs -= DAY;
    await evictDurableObject(of(owner));
    await runDurableObjectAlarm(of(owner));
    expect((await seen()).filter((line) => line.includes("jumpy"))).toHaveLength(2);
    await ringAt(owner, (await one(owner, "it")).next!);
    expect((await seen()).filter((line) => line.includes("jumpy"))).toHaveLength(3);
  });

  test("that are due at once are made one by one: requests are served in between", async () => {
    const { owner, call } = stranger();
    const at = new Date(Date.now() + HOUR).toISOString();
    for (const id of ["1", "2", "3"]) structured(await call("later", { at, text: id, id }));
    clock.aheadMs += HOUR;
    limited({ makingPauseMs: 7 });
    const made: number[] = [];
    const wait = scheduler.wait.bind(scheduler);
    vi.spyOn(scheduler, "wait").mockImplementation(async (ms, ...rest) => {
      if (ms === 7) made.push((await tasksOf(owner)).length);
      return wait(ms, ...rest);
    });
    await runDurableObjectAlarm(of(owner));
    vi.restoreAllMocks();
    expect(made).toEqual([1, 2, 3]);
  });

  test("that ask are answered by whoever they are for", async () => {
    await declared();
    expect(await of(OWNER).runNow("waking", "asking")).toHaveProperty("value");
    const task = (await one(OWNER, "asking")).runs[0]!.task!;
    await runDurableObjectAlarm(objectOf(task));
    const at = Date.now();
    const operator = { name: "boss", at, isAtPage: true, isOperator: true, scopes: ["operator"] };
    const other = { name: "eve", at, isAtPage: true };
    expect(await objectOf(task).handedOver(other, { isAny: true })).toBeUndefined();
    const found = await objectOf(task).handedOver(operator, { isAny: true });
    const [key] = Object.keys((found as unknown as HandedOver).asks);
    await objectOf(task).reply(operator, key!, { action: "accept", content: { text: "all" } });
    await runDurableObjectAlarm(objectOf(task));
    expect(await seen()).toContain("asked: all");
  });
});

describe("a schedule whose object dies", () => {
  test.each([0, 1, 2, 3])("at its write %i has each run once", async (fatal) => {
    const { owner, call } = stranger();
    const text = `kept ${fatal}`;
    structured(await call("later", { every: HOUR, text, id: "it" }));
    const due = (await one(owner, "it")).next!;
    clock.aheadMs += HOUR;
    let writes = 0;
    await runInDurableObject(of(owner), async (instance, { storage }) => {
      const { exec } = storage.sql;
      storage.sql.exec = ((query: string, ...values: SqlStorageValue[]) => {
        if (/^(INSERT|UPDATE|DELETE)/.test(query) && writes++ === fatal)
          throw new Error("died on purpose");
        return exec.call(storage.sql, query, ...values);
      }) as typeof exec;
      await instance.alarm?.().catch(() => undefined);
    });
    expect(writes).toBeGreaterThan(fatal);
    await evictDurableObject(of(owner));
    for (let nth = 0; nth < 3; nth++) {
      clock.aheadMs += 60_000;
      await runDurableObjectAlarm(of(owner));
    }
    for (const task of await tasksOf(owner)) await runDurableObjectAlarm(objectOf(task));
    expect((await seen()).filter((line) => line.includes(text))).toHaveLength(1);
    const { runs, next } = await one(owner, "it");
    expect(runs).toMatchObject([{ due, missed: 0 }]);
    expect(next).toBe(due + HOUR);
  });
});
