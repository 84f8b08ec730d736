import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { HookObject } from "../../../src/server/features/webhooks/hook-object.ts";
import { Sealer } from "../../../src/server/kernel/storage/vault.ts";
import { SealedRows } from "../../../src/server/kernel/storage/sealed-rows.ts";
import { StoredTasks, tasksOf } from "../../../src/server/features/tasks/tasks.ts";
import { env } from "cloudflare:workers";
import { hexDigest } from "../../../src/server/kernel/core/digest.ts";
import type { Principal } from "../../../src/server/kernel/core/model.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { clock, limited, prepare } from "../../worker/calls/client.ts";
import {
  deliver,
  effects,
  forgetAll,
  github,
  hookServer,
  json,
  objectOf,
  prepareWorld,
  shownOf,
  untilEffects,
} from "./senders.ts";

/** What becomes of received deliveries: their runs, also where objects die, and where a run cannot begin. */
prepare();
prepareWorld();
beforeEach(forgetAll);

const GITHUB = { hook: "hooked/github" };

/** The runs of the servlet, as an operator sees them at a page. */
const operator = { name: "owner", isAtPage: true, isOperator: true };
const tasks = tasksOf(env)!(operator, async () => {});

const taskOf = async (): Promise<string> => {
  const { deliveries } = await shownOf("github");
  expect(deliveries).toHaveLength(1);
  return deliveries[0]!.task;
};

/** The run of the only delivery, once it has this status. */
async function runWith(status: string) {
  const task = await vi.waitFor(taskOf, 10_000);
  return vi.waitFor(async () => {
    const found = await tasks.handedOver(task, { isAny: true });
    expect(found?.view.status).toBe(status);
    return found!;
  }, 20_000);
}

/** Has the beginning of runs do something else; `begin` begins the run. */
function beginning(work: (begin: () => Promise<unknown>) => Promise<unknown>) {
  // oxlint-disable-next-line typescript/unbound-method
  const { create } = StoredTasks.prototype;
  return vi.spyOn(StoredTasks.prototype, "create").mockImplementation(function (
    this: StoredTasks,
    ...args
  ) {
    return work(() => create.apply(this, args)) as ReturnType<typeof create>;
  });
}

const fails = async () => {
  throw new Error("There is no room.");
};

describe("guests", () => {
  test("that throw have failed runs, which are not repeated", async () => {
    await deliver(github(json({ act: "fail" })), GITHUB);
    const { view } = await runWith("completed");
    expect(JSON.stringify(view)).toContain("It fails.");
    expect(effects).toEqual([]);
  });

  test("that trap have failed runs", async () => {
    await deliver(github(json({ act: "trap" })), GITHUB);
    const { view } = await runWith("completed");
    expect(JSON.stringify(view)).toMatch(/"isError":true/);
    expect(JSON.stringify(view)).toMatch(/comput/);
  });

  test("that ask are answered by operators, at the page of the run", async () => {
    await deliver(github(json({ act: "ask" }), { id: "one" }), GITHUB);
    const { asks, view } = await runWith("input_required");
    const [[key, ask]] = Object.entries(asks) as [[string, any]];
    expect(ask.params.message).toBe("May one go on?");
    // Nobody else sees it.
    const other = tasksOf(env)!({ name: "ada", isAtPage: true }, async () => {});
    expect(await other.handedOver(view.taskId, { isAny: true })).toBeUndefined();
    await tasks.reply(view.taskId, key, { action: "accept", content: { why: "so" } });
    await untilEffects(1);
    expect(effects[0]!.what).toEqual({ action: "accept" });
  });

  test("get the address of the servlet's own webhook where they run without a caller", async () => {
    await deliver(github(json({ act: "url" })), GITHUB);
    await untilEffects(1);
    expect(effects[0]!.what.url).toMatch(/^https?:\/\/[^/]+\/hooks\/hooked\/github$/);
  });
});

describe("a run that cannot begin", () => {
  test("is tried again, later each time, and says why until it has begun", async () => {
    let failures = 2;
    const begun = beginning(async (begin) => {
      if (failures-- > 0) throw new Error("There is no room.");
      await begin();
    });
    limited({ deliveryRetryMs: 1 });
    await deliver(github("{}"), GITHUB);
    await untilEffects(1);
    expect(begun.mock.calls.length).toBe(3);
    const ids = new Set(begun.mock.calls.map(([, , options]) => options?.id));
    expect(ids.size).toBe(1);
  });

  test("is given up after a time, and can be sent again", async () => {
    const begun = beginning(fails);
    limited({ deliveryTryMs: -1 });
    await deliver(github("{}"), GITHUB);
    await vi.waitFor(async () =>
      expect((await shownOf("github")).deliveries).toMatchObject([
        { state: "failed", why: "Internal error" },
      ]),
    );
    begun.mockRestore();
    const of = { servlet: "hooked", hook: "github" };
    expect(await objectOf("github").again(of, await taskOf(), "one")).toEqual({ value: true });
    await untilEffects(1);
    const { deliveries } = await shownOf("github");
    expect(deliveries.map(({ isAgain }) => isAgain)).toEqual([true, false]);
  });

  test("keeps its place: above the limit of deliveries that wait, others are refused", async () => {
    const begun = beginning(fails);
    limited({ waitingDeliveries: 2, deliveryRetryMs: 1 });
    const server = hookServer();
    const send = async () => (await deliver(github("{}"), { ...GITHUB, server })).status;
    expect([await send(), await send(), await send()]).toEqual([202, 202, 429]);
    // It has its run yet to come.
    const [waiting] = (await shownOf("github")).deliveries;
    const of = { servlet: "hooked", hook: "github" };
    expect(await objectOf("github").again(of, waiting!.task, "one")).toEqual({ value: false });
    begun.mockRestore();
    await untilEffects(2);
    limited({ waitingDeliveries: 1000, waitingDeliveryBytes: 1 });
    expect(await send()).toBe(429);
  });
});

/** Kills all objects when the beginning of a run hangs at this place. */
async function killed(at: "before" | "after"): Promise<void> {
  let hangs = false;
  const begun = beginning(async (begin) => {
    if (at === "after") await begin();
    hangs = true;
    return new Promise(() => {});
  });
  expect((await deliver(github("{}"), GITHUB)).status).toBe(202);
  await vi.waitFor(() => expect(hangs).toBe(true), 10_000);
  await abortAllDurableObjects();
  begun.mockRestore();
}

/** Has the alarm come that goes on. */
const goOn = async () => {
  clock.aheadMs = 0;
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(objectOf("github"));
    expect((await shownOf("github")).deliveries).toMatchObject([{ state: "begun" }]);
  }, 10_000);
};

describe("if the object dies", () => {
  test("between the storing of a delivery and the beginning of its run, the alarm begins that", async () => {
    expect.hasAssertions();
    await killed("before");
    await goOn();
    await untilEffects(1);
  });

  test("after the beginning of a run, before that is stored, the run is the same", async () => {
    await killed("after");
    await goOn();
    await untilEffects(1);
    const { deliveries } = await shownOf("github");
    expect(deliveries).toHaveLength(1);
  });

  test("and its alarm is lost, a look at it sets that again", async () => {
    const begun = beginning(fails);
    await deliver(github("{}"), GITHUB);
    await vi.waitFor(() => expect(begun).toHaveBeenCalled());
    await vi.waitFor(async () =>
      expect((await shownOf("github")).deliveries[0]!.why).toBe("Internal error"),
    );
    begun.mockRestore();
    await runInDurableObject(objectOf("github"), (_one, { storage }) => storage.deleteAlarm());
    await shownOf("github");
    await untilEffects(1);
  });

  test("and the clock was set back, a look at it has the run begin", async () => {
    const begun = beginning(fails);
    clock.aheadMs = 10 * 86_400_000;
    await deliver(github("{}"), GITHUB);
    await runDurableObjectAlarm(objectOf("github"));
    expect(begun).toHaveBeenCalled();
    begun.mockRestore();
    clock.aheadMs = 0;
    await runInDurableObject(objectOf("github"), (_one, { storage }) => storage.deleteAlarm());
    await shownOf("github");
    await untilEffects(1);
  });
});

test("after the clock was set back, the next delivery has earlier ones begin, too", async () => {
  const begun = beginning(fails);
  clock.aheadMs = 10 * 86_400_000;
  await deliver(github("{}"), GITHUB);
  await runDurableObjectAlarm(objectOf("github"));
  expect(begun).toHaveBeenCalled();
  begun.mockRestore();
  clock.aheadMs = 0;
  await deliver(github("{}"), GITHUB);
  await untilEffects(2);
});

/** Has the next delivery meet an object that deletes everything while it seals the delivery. */
function emptiedBy(forget: () => Promise<void>): void {
  // oxlint-disable-next-line typescript/unbound-method
  const { prepare: seal } = SealedRows.prototype;
  vi.spyOn(SealedRows.prototype, "prepare").mockImplementationOnce(async function (
    this: SealedRows,
    ...args
  ) {
    const write = await seal.apply(this, args);
    await forget();
    return write;
  });
}

test("a delivery is stored, also if its object deletes what is old meanwhile", async () => {
  emptiedBy(async () => objectOf("github").forget());
  expect((await deliver(github("{}"), GITHUB)).status).toBe(202);
  await untilEffects(1);
});

test("an object whose only webhook was revoked shows nothing", async () => {
  const of = { servlet: "hooked", hook: "github" };
  const object = objectOf("revoked");
  await object.issue({ ...of, token: "token", principal: { name: "bob" } });
  expect(await object.revoke(of)).toBe(true);
  expect(await object.shown()).toEqual({ deliveries: [], refusals: [], own: [] });
});

test("a webhook is issued, also if somebody looks at the empty object meanwhile", async () => {
  const object = objectOf("empty");
  const of = { servlet: "hooked", hook: "github" };
  // oxlint-disable-next-line typescript/unbound-method
  const { seal } = Sealer.prototype;
  vi.spyOn(Sealer.prototype, "seal").mockImplementationOnce(async function (this: Sealer, ...args) {
    await objectOf("empty").shown();
    return seal.apply(this, args);
  });
  const issued = await object.issue({ ...of, token: "token", principal: { name: "bob" } });
  expect(issued).toEqual({ value: "token" });
});

test("what arrives for a caller who is forgotten meanwhile is not stored", async () => {
  const kernel = new Kernel(bundle, env);
  const server = {
    sealer: kernel.sealer!,
    registry: () => kernel.registry(),
    authenticator: { current: async (principal: Principal) => principal },
    unattended: kernel.unattended!,
  };
  await runInDurableObject(objectOf("forgotten"), async (_one, state) => {
    const object = new HookObject(state, {}, server);
    const of = { servlet: "hooked", hook: "github" };
    await object.issue({ ...of, token: "token", principal: { name: "bob" } });
    emptiedBy(() => object.forget());
    const input = { name: "github", id: "1", headers: {}, body: "", isBase64: false };
    const token = await hexDigest("token");
    const given = { ...of, token, repeat: "1", bytes: 0, input: { ...input, receivedAt: "" } };
    expect(await object.receive(given)).toEqual({ value: "gone" });
    expect(await object.shown()).toEqual({ deliveries: [], refusals: [], own: [] });
  });
});

describe("what is stored", () => {
  test("is sealed", async () => {
    const body = json({ text: "a secret of the sender" });
    await deliver(github(body), GITHUB);
    await untilEffects(1);
    await runInDurableObject(objectOf("github"), (_one, { storage: { sql } }) => {
      const tables = ["deliveries", "texts", "delivery_ids"];
      const rows = tables.flatMap((table) => sql.exec(`SELECT * FROM ${table}`).toArray());
      expect(rows.length).toBeGreaterThan(2);
      for (const value of rows.flatMap((row) => Object.values(row))) {
        const text = value instanceof ArrayBuffer ? new TextDecoder().decode(value) : String(value);
        expect(text).not.toContain("a secret of the sender");
      }
    });
  });

  test("is the newest deliveries, by number and by bytes", async () => {
    limited({ shownDeliveries: 3 });
    const server = hookServer();
    for (let nth = 0; nth < 6; nth++) await deliver(github(json({ nth })), { ...GITHUB, server });
    await untilEffects(6);
    await vi.waitFor(async () => expect((await shownOf("github")).deliveries).toHaveLength(3));
    limited({ shownDeliveryBytes: 1 });
    await deliver(github("{}"), { ...GITHUB, server });
    await untilEffects(7);
    await vi.waitFor(async () => expect((await shownOf("github")).deliveries).toHaveLength(1));
    await runInDurableObject(objectOf("github"), (_one, { storage: { sql } }) =>
      expect(sql.exec("SELECT COUNT(DISTINCT name) AS n FROM texts").one()).toEqual({ n: 1 }),
    );
  });

  test("is nothing of what cannot be sent again", async () => {
    const of = { servlet: "hooked", hook: "github" };
    expect(await objectOf("github").again(of, "unknown", "one")).toEqual({ value: false });
    await deliver(github("{}"), GITHUB);
    await untilEffects(1);
    const other = { servlet: "hooked", hook: "shop" };
    expect(await objectOf("github").again(other, await taskOf(), "one")).toEqual({ value: false });
  });

  test("is how many were refused, for a time", async () => {
    await deliver(github("{}", { secret: "other" }), GITHUB);
    await vi.waitFor(async () => expect((await shownOf("github")).refusals).toHaveLength(1));
    clock.aheadMs = 8 * 86_400_000;
    expect(await runDurableObjectAlarm(objectOf("github"))).toBe(true);
    expect(await shownOf("github")).toEqual({ deliveries: [], refusals: [], own: [] });
    await runInDurableObject(objectOf("github"), async (_one, { storage: { sql } }) =>
      expect(
        sql.exec("SELECT name FROM sqlite_master WHERE name = 'deliveries'").toArray(),
      ).toEqual([]),
    );
  });

  test("is as many ids as the limit says", async () => {
    limited({ deliveryIds: 2 });
    const server = hookServer();
    for (const id of ["one", "two", "three"])
      await deliver(github("{}", { id }), { ...GITHUB, server });
    await untilEffects(3);
    // They are counted once in an hour.
    clock.aheadMs = 2 * 3_600_000;
    await runInDurableObject(objectOf("github"), async (instance: HookObject, { storage }) => {
      await instance.alarm();
      const { n } = storage.sql.exec("SELECT COUNT(*) AS n FROM delivery_ids").one();
      expect(n).toBe(2);
    });
  });
});

test("an alarm that was set before the clock was set back forgets no id of a delivery", async () => {
  expect.hasAssertions();
  await deliver(github("{}", { id: "one" }), GITHUB);
  await untilEffects(1);
  await runInDurableObject(objectOf("github"), async (instance: HookObject) => {
    const scheduledTime = Date.now() + 10 * 86_400_000;
    await instance.alarm({ scheduledTime, retryCount: 0, isRetry: false });
  });
  await deliver(github("{}", { id: "one" }), GITHUB);
  await deliver(github("{}", { id: "two" }), GITHUB);
  expect(await untilEffects(2)).toHaveLength(2);
  const { deliveries } = await shownOf("github");
  expect(deliveries).toHaveLength(2);
});
