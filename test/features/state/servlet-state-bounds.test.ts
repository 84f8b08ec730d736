/// <reference types="@cloudflare/vitest-plugin/types" />
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, onTestFinished, test } from "vitest";
import { bundle } from "../../bundle.gen.ts";
import { limited, prepare } from "../../worker/calls/client.ts";
import { idsOf, MiB, newCaller, states } from "./state-callers.ts";

/** Limits of stored state: in one scope, and for one caller in all scopes. */
prepare();

test("a state beyond its bound changes nothing, and one within it does", async () => {
  const { grow } = newCaller();
  expect(await grow(1)).toBe("1");
  limited({ stateBytes: 3 * MiB });
  expect(await grow(4)).toMatch(/state of this servlet would take \d.* MiB \(limit 3 MiB\)/);
  expect(await grow(1)).toBe("2");
});

test("a state as large as one may be is loaded and stored within the default budget of a call", async () => {
  const { grow } = newCaller();
  expect(await grow(58)).toBe("58");
  expect(await grow(0)).toBe("58");
});

test("a call whose state takes more than its budget to be stored changes nothing", async () => {
  const { grow } = newCaller();
  expect(await grow(1)).toBe("1");
  limited({ guestFuel: 40_000_000 });
  expect(await grow(8)).toMatch(
    /Loading and storing its state counts as computing, too. The state is as it was/,
  );
  limited({ guestFuel: 3_000_000_000 });
  expect(await grow(1)).toBe("2");
});

test("files beyond what the manifest lets them take are not written", async () => {
  const { manifest } = bundle.servlets.find(({ name }) => name === "filing")!;
  onTestFinished(() => void delete manifest.files_limit);
  manifest.files_limit = "2Mi";
  const { call } = newCaller();
  const doing = (what: string, text = "") => call("filing", "do", { what, path: "/data/a", text });
  expect(await doing("fill", "3")).toBe("No space left on device");
  expect(await doing("remove")).toBe("done");
  expect(await doing("fill", "1")).toBe("done");
});

test("files of the bundle that do not fit are an error that says so", async () => {
  const { manifest } = bundle.servlets.find(({ name }) => name === "filing")!;
  onTestFinished(() => void delete manifest.files_limit);
  manifest.files_limit = "4";
  const { call } = newCaller();
  expect(await call("filing", "do", { what: "list", path: "/data" })).toMatch(
    /cannot be stored: they do not fit into its files_limit/,
  );
});

describe("all that is kept for one caller", () => {
  test("is counted over scopes and servlets, and refused beyond the limit with nothing changed", async () => {
    limited({ callerStateBytes: 6 * MiB });
    const { call, grow, held } = newCaller();
    expect(await grow(2)).toBe("2");
    expect(await grow(1, "one")).toBe("1");
    expect(await held()).toEqual([3, 2]);
    expect(await grow(2, "two")).toMatch(/keep too much for this caller \(limit 6 MiB/);
    expect(await held()).toEqual([3, 2]);
    expect(await call("filing", "do", { what: "fill", path: "/data/a", text: "1" })).toMatch(
      /keep too much/,
    );
    expect(await call("filing", "do", { what: "list", path: "/data" })).toBe("");
    // The state that is there can still be used.
    expect(await grow(0)).toBe("2");
    expect(await newCaller().grow(2)).toBe("2");
  });

  test("bounds files: a write beyond it finds no space, and what was written stays", async () => {
    limited({ callerStateBytes: 6 * MiB });
    const { call, grow, held } = newCaller();
    const doing = (what: string, text = "") =>
      call("filing", "do", { what, path: "/data/a", text });
    expect(await grow(2)).toBe("2");
    expect(await doing("fill", "4")).toBe("No space left on device");
    expect(await held()).toEqual([3, 3]);
    expect(await doing("fill", "1")).toBe("done");
    expect(await doing("remove")).toBe("done");
  });

  test("leaves no room for a servlet's first files where nothing is left, not even in the reserve, and says so", async () => {
    limited({ callerStateBytes: 3 * MiB, callerReserveBytes: 0 });
    const { call, grow, held } = newCaller();
    expect(await grow(2)).toBe("2");
    expect(await call("filing", "do", { what: "list", path: "/data" })).toMatch(/keep too much/);
    expect(await held()).toEqual([3]);
  });

  test("bounds files that others have left room for a moment ago: the call fails, and changes nothing", async () => {
    limited({ callerStateBytes: 6 * MiB });
    const { call, grow } = newCaller();
    const doing = (what: string, text = "") =>
      call("filing", "do", { what, path: "/data/a", text });
    expect(await doing("fill", "1")).toBe("done");
    expect(await grow(2)).toBe("2");
    expect(await doing("fill", "4")).toMatch(/keep too much/);
    expect(await doing("fill", "1")).toBe("done");
  });

  test("is less when files are gone", async () => {
    const { call, held } = newCaller();
    const doing = (what: string, text = "") =>
      call("filing", "do", { what, path: "/data/a", text });
    expect(await doing("fill", "5")).toBe("done");
    const [before] = await held();
    expect(before).toBeGreaterThan(5);
    expect(await doing("remove")).toBe("done");
    await expect.poll(held).toEqual([2]);
  });

  test("is counted for a network and its site", async () => {
    limited({ callerStateBytes: 3 * MiB, siteShares: 2 });
    const neighbours = [1, 2, 3].map((nth) => newCaller(`2001:db8:77:${nth}::/64`));
    expect(await neighbours[0]!.grow(2)).toBe("2");
    expect(await neighbours[1]!.grow(2)).toBe("2");
    expect(await neighbours[2]!.grow(1)).toMatch(/keep too much/);
    expect(await neighbours[2]!.held()).toEqual([]);
  });

  test("is given back when the state of a session is deleted", async () => {
    const before = await idsOf();
    const { grow, held } = newCaller();
    expect(await grow(2, "one")).toBe("2");
    const [id] = (await idsOf()).difference(before);
    expect(await held()).toEqual([3]);
    await runDurableObjectAlarm(states.get(states.idFromString(id!)));
    expect(await held()).toEqual([]);
  });

  test("is counted anew where an object died before it was told of", async () => {
    limited({ callerStateBytes: 4 * MiB });
    const before = await idsOf();
    const { grow, held } = newCaller();
    expect(await grow(2, "one")).toBe("2");
    const [id] = (await idsOf()).difference(before);
    // As if it had died between its deletion and the count.
    await runInDurableObject(states.get(states.idFromString(id!)), (_object, { storage }) =>
      storage.deleteAll(),
    );

    await abortAllDurableObjects();
    expect(await held()).toEqual([3]);
    expect(await grow(2, "two")).toBe("2");
    expect(await held()).toEqual([3]);
  });
});
