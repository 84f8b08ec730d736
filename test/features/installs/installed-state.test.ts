/// <reference types="@cloudflare/vitest-plugin/types" />
import { unsettled } from "../../../src/server/kernel/core/settled.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { callerKey } from "../../../src/server/kernel/core/callers.ts";
import { hasTable } from "../../../src/server/kernel/storage/tables.ts";
import { refOf } from "../../../src/server/kernel/servlets/bundle.ts";
import { nobodysCall, type CollectedLists } from "../../../src/server/kernel/servlets/servlet.ts";
import { limited, prepare } from "../../worker/calls/client.ts";
import {
  bundled,
  callIn,
  fileIn,
  installed,
  loaderWith,
  newScope,
} from "../../worker/installs/installed.ts";

/** Servlets that keep state and are installed: what their guests, callers and operators can do to them. */
prepare();

const MiB = 1024 * 1024;
const quotas = env.QUOTAS!;

/** A caller that nobody has been yet, and how much is held for it, in MiB. */
function newCaller() {
  const principal = { name: crypto.randomUUID() };
  const held = () =>
    runInDurableObject(quotas.getByName(callerKey(principal)!), (_object, { storage: { sql } }) =>
      hasTable(sql, "held")
        ? sql
            .exec<{ bytes: number }>("SELECT bytes FROM held")
            .toArray()
            .map(({ bytes }) => bytes / MiB)
        : [],
    );
  return { principal, held };
}

describe("a call changes nothing", () => {
  test("that fails or computes too long", async () => {
    await newScope().within(async (object) => {
      const call = (tool: string) => callIn(object, installed("counting"), tool);
      expect(await call("next")).toBe("1");
      expect(await call("spin")).toMatch(/comput/);
      expect(await call("next")).toBe("2");
    });
  });

  test("that traps, or for which its caller has no room", async () => {
    const { principal } = newCaller();
    await newScope().within(async (object) => {
      const call = (tool: string, name: string) =>
        callIn(object, installed("growing"), tool, { name }, { principal });
      expect(await call("grow", "2")).toBe("2");
      expect(await call("add_and_trap", "one")).toMatch(/crashed/);
      expect(await call("one", "")).toBe("added");
      limited({ callerStateBytes: 5 * MiB });
      expect(await call("grow", "4")).toMatch(/keep too much for this caller/);
      expect(await call("grow", "0")).toBe("2");
    });
  });

  test("for which its files have no room", async () => {
    await newScope().within(async (object) => {
      const { manifest } = bundled("filing");
      const small = installed("filing", { manifest: { ...manifest, files_limit: "3Mi" } });
      const file = (what: string, text = "") => fileIn(object, small, what, text);
      expect(await file("fill", "1")).toBe("done");
      expect(await file("fill", "4")).toBe("No space left on device");
      expect(await file("list")).toBe("a ");
    });
  });
});

test("a caller's quota is the same wherever the state is, and is given back", async () => {
  const { principal, held } = newCaller();
  const { within } = newScope();
  const grow = (servlet: typeof installed, more: number) =>
    within((object) =>
      callIn(object, servlet("growing"), "grow", { name: `${more}` }, { principal }),
    );
  limited({ callerStateBytes: 5 * MiB });
  expect(await grow(installed, 2)).toBe("2");
  const before = await held();
  expect(before).toEqual([3]);
  for (const servlet of [bundled, installed, bundled, installed]) {
    expect(await grow(servlet, 0)).toBe("2");
    expect(await held()).toEqual(before);
    expect(await grow(servlet, 4)).toMatch(/keep too much/);
  }
  expect(await within((object) => object.held())).toBe(3 * MiB);
  await within((object) => object.forget());
  expect(await held()).toEqual([]);
});

test("calls of two versions that come at once are all answered", async () => {
  const { within } = newScope();
  const other = { ...installed("counting"), hash: "another" };
  await within(async (object) => {
    const versions = Array.from({ length: 12 }, (_, at) =>
      at % 3 === 0 ? other : installed("counting"),
    );
    const said = await Promise.all(versions.map((one) => callIn(object, one, "next")));
    // Each change of the version begins with new memory.
    expect(said).toEqual(["1", "1", "2", "1", "1", "2", "1", "1", "2", "1", "1", "2"]);
  });
});

test("a call that holds its turn, and those that wait, end after their servlet is uninstalled", async () => {
  const { within } = newScope();
  await within(
    async (object) => {
      const begun = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      const begin = async () => {
        begun.resolve();
        await gate.promise;
      };
      const first = callIn(
        object,
        installed("counting"),
        "next",
        {},
        {
          keeper: { begin, keep: async () => {} },
        },
      );
      await begun.promise;
      const second = callIn(object, installed("counting"), "next");
      const forgotten = object.forget();
      const last = callIn(object, installed("counting"), "next");
      gate.resolve();
      expect(await Promise.all([first, second, forgotten, last])).toEqual([
        "1",
        "2",
        { value: undefined },
        "1",
      ]);
    },
    { bundles: false },
  );
});

test("state that is deleted while it moves is deleted whole, after the move", async () => {
  const { within } = newScope();
  const next = (servlet: typeof installed) =>
    within((object) => callIn(object, servlet("counting"), "next"));
  expect(await next(bundled)).toBe("1");
  await within(async (object) => {
    const moving = callIn(object, installed("counting"), "next");
    const forgotten = object.forget();
    expect(await moving).toBe("2");
    expect(await forgotten).toEqual({ value: undefined });
  });
  expect(await next(bundled)).toBe("1");
  expect(await next(installed)).toBe("2");
});

test("state of a session ends with its time, wherever it is", async () => {
  const { within } = newScope();
  const grow = (servlet: typeof installed) =>
    within((object) => callIn(object, servlet("growing_session"), "grow", { name: "1" }));
  expect(await grow(installed)).toBe("1");
  const alarm = () => within((_object, { storage }) => storage.getAlarm());
  expect(await alarm()).toBeGreaterThan(Date.now());
  expect(await grow(installed)).toBe("2");
  await within((object) => object.alarm());
  expect(await alarm()).toBeNull();
  expect(await grow(installed)).toBe("1");
  expect(await grow(bundled)).toBe("2");
});

test("lists of a version are asked for again after a call of another", async () => {
  const first = installed("growing");
  await newScope().within(async (object) => {
    const lists = async (servlet: typeof first) => {
      const text = unsettled(await object.lists(refOf(servlet), nobodysCall));
      return (JSON.parse(text) as CollectedLists).lists.tools.map(({ name }) => name);
    };
    const own = ["add", "add_later", "add_and_trap", "grow"];
    expect(await callIn(object, first, "add", { name: "one" })).toBe("added");
    expect(await lists(first)).toEqual([...own, "one"]);
    const other = { ...first, hash: "another growing" };
    // Its call begins with new memory, which takes the place of the old.
    expect(await callIn(object, other, "grow", { name: "1" })).toBe("1");
    expect(await lists(first)).toEqual(own);
  });
});

test.each([
  ["the network", "await fetch('http://127.0.0.1:1/')", /not permitted to access the internet/],
  [
    "sockets",
    "await (await import('cloudflare:sockets')).connect('127.0.0.1:1').opened",
    /not permitted to access the internet/,
  ],
  ["bindings", "throw JSON.stringify(this.env)", /^\{\}$/],
  [
    "other classes",
    "throw JSON.stringify(Object.keys(this.ctx.exports ?? {}).sort())",
    /^\["State"\]$/,
  ],
  [
    "the tables of its object",
    "throw JSON.stringify(this.ctx.storage.sql.exec('SELECT name FROM sqlite_master').toArray())",
    /^\[\]$/,
  ],
])("a facet that has been taken over does not reach %s", async (_what, attempt, outcome) => {
  const taken = loaderWith(attempt);
  const { within } = newScope();
  await within((_object, { storage }) => void storage.sql.exec("CREATE TABLE own (value)"));
  const said = await within(
    (object) => object.summary(refOf({ ...installed("counting"), hash: attempt })),
    { by: taken },
  );
  expect(said).toMatchObject({ message: expect.stringMatching(outcome) });
});

test("a call of a tool is made once the user has allowed it", async () => {
  await newScope().within(async (object) => {
    const seen: string[] = [];
    const call = (action: string) =>
      callIn(
        object,
        installed("code"),
        "run_code",
        { code: "await tools.anything()" },
        {
          async callTools({ isTrial, allowed, time }) {
            if (isTrial === true)
              return { question: "Allow it?", servlets: { one: "notes" }, unasked: [] };
            seen.push(`called ${JSON.stringify(allowed)}`);
            const answers = {
              one: { result: { content: [{ type: "text" as const, text: "done" }] } },
            };
            return { answers, fuelUsed: 0, time };
          },
          async ask(asks) {
            seen.push(...Object.values(asks).map(({ params }) => String(params["message"])));
            const result = { action, content: {} };
            return Object.fromEntries(Object.keys(asks).map((key) => [key, { result }]));
          },
        },
      );
    expect(await call("decline")).toMatch(/has not allowed/);
    expect(await call("accept")).toBe('"done"');
    expect(seen).toEqual(["Allow it?", "Allow it?", 'called {"one":"notes"}']);
  });
});
