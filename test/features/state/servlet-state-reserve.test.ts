/// <reference types="@cloudflare/vitest-plugin/types" />
import { abortAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { limited, prepare } from "../../worker/calls/client.ts";
import { idsOf, MiB, newCaller, states } from "./state-callers.ts";

/** What a caller can still do that has used up what may be kept for it. */
prepare();

describe("where a caller has used up everything", () => {
  /** A caller with a file of TypeScript's and one of C's, and as much in sessions as is left of 8 MiB. */
  async function fullCaller(callerReserveBytes = 64 * MiB) {
    limited({ callerStateBytes: 8 * MiB, callerReserveBytes });
    const caller = newCaller();
    const { call, grow, held } = caller;
    const inC = (what: string) => call("filing", "do", { what, path: "/data/a", text: "1" });
    const begin = (session: string) => call("growing_session", "grow", { name: "0" }, session);
    expect(await call("drafts", "write", { text: "x".repeat(30_000) })).toBe("30000");
    expect(await inC("fill")).toBe("done");
    for (let nth = 0; (await sumOf(held)) < 8; nth++) expect(await grow(0, `${nth}`)).toBe("0");
    return { ...caller, inC, begin };
  }
  const sumOf = async (held: () => Promise<number[]>) =>
    (await held()).reduce((sum, bytes) => sum + bytes, 0);

  test("files can be read and deleted, and not added to", async () => {
    const { call, inC, held } = await fullCaller();
    for (let nth = 0; nth < 3; nth++) expect(await call("drafts", "read", {})).toBe("30000");
    expect(await inC("list")).toMatch(/^$|Not a directory/);
    expect(await call("drafts", "write", { text: "x".repeat(3_000_000) })).toMatch(
      /ENOSPC|keep too much/,
    );
    expect(await call("drafts", "read", {})).toBe("30000");
    expect(await call("drafts", "remove", {})).toBe("removed");
    expect(await inC("remove")).toBe("done");
    await expect.poll(() => sumOf(held)).toBeLessThanOrEqual(9);
  });

  test("a servlet with nothing yet can do its first calls, with folders and without", async () => {
    const { call } = await fullCaller();
    expect(await call("counting", "next", {})).toBe("1");
    expect(await call("counting", "next", {})).toBe("2");
    expect(await call("keeping", "list", { path: "/data" })).not.toMatch(/keep too much/);
  });

  test("a servlet cannot begin with more than a MiB, keeps nothing of that call, and can begin with less", async () => {
    const { grow, held } = await fullCaller();
    const before = await sumOf(held);
    for (let nth = 0; nth < 3; nth++) {
      expect(await grow(3, "begun")).toMatch(/keep too much.*delete|keep too much/);
      expect(await grow(1 + nth)).toMatch(/keep too much/);
    }
    expect(await sumOf(held)).toBe(before);
    expect(await grow(0, "begun")).toBe("0");
    expect(await grow(0, "begun")).toBe("0");
  });

  test("a variable that cannot be kept ends the call with an error, and is as it was before", async () => {
    const { call } = await fullCaller();
    expect(await call("drafts", "keep", { text: "a" })).toBe("1");
    expect(await call("drafts", "keep", { text: "b".repeat(3_000_000) })).toMatch(/keep too much/);
    expect(await call("drafts", "keep", {})).toBe("1");
  });

  test("the reserve is bounded for all scopes together, and half of it is for those that are there", async () => {
    const { call, begin, held } = await fullCaller(4 * MiB);
    const said = [];
    for (let nth = 0; nth < 6; nth++) said.push(await begin(`new ${nth}`));
    expect(said.filter((text) => text === "0")).toHaveLength(2);
    expect(said.at(-1)).toMatch(/keep too much/);
    expect(await sumOf(held)).toBe(10);
    expect(await call("drafts", "keep", { text: "a".repeat(700_000) })).toBe("700000");
    expect(await sumOf(held)).toBe(11);
  });

  test("one scope gets a MiB of the reserve, whatever it asks for", async () => {
    const { call, held } = await fullCaller();
    const said = [];
    for (let nth = 0; nth < 6; nth++) {
      said.push(await call("drafts", "keep", { text: "a".repeat(600_000) }));
    }
    expect(said.at(-1)).toMatch(/keep too much/);
    expect(await sumOf(held)).toBe(9);
    expect(await call("drafts", "read", {})).toBe("30000");
    expect(Number(await call("drafts", "drop", {}))).toBeGreaterThan(0);
  });

  test("variables that were filled to the last, little by little, can be read and dropped", async () => {
    const { call } = await fullCaller();
    let kept = 0;
    for (let text = "0"; /^\d+$/.test(text);) {
      kept = Number(text);
      text = await call("drafts", "keep", { text: "a".repeat(50_000) });
      expect(text).toMatch(/^\d+$|keep too much/);
    }
    expect(kept).toBeGreaterThan(500_000);
    for (let nth = 0; nth < 20; nth++) expect(await call("drafts", "read", {})).toBe("30000");
    await abortAllDurableObjects();
    for (let nth = 0; nth < 70; nth++) expect(await call("drafts", "keep", {})).toBe(`${kept}`);
    expect(await call("drafts", "drop", {})).toBe(`${kept / 50_000}`);
  });

  test("what is lent for memory is not for files", async () => {
    const { call, held } = await fullCaller();
    expect(await call("drafts", "keep", { text: "a".repeat(700_000) })).toBe("700000");
    expect(await sumOf(held)).toBe(9);
    expect(await call("drafts", "write", { text: "x".repeat(900_000) })).toMatch(
      /ENOSPC|keep too much/,
    );
    await abortAllDurableObjects();
    expect(await call("drafts", "write", { text: "x".repeat(900_000) })).toMatch(
      /ENOSPC|keep too much/,
    );
    // A write for which there is no room may have shortened it.
    expect(Number(await call("drafts", "read", {}))).toBeLessThanOrEqual(30_000);
  });

  test("the reserve is free again when others have deleted something", async () => {
    const before = await idsOf();
    const { call, held } = await fullCaller();
    expect(await call("drafts", "keep", { text: "a".repeat(700_000) })).toBe("700000");
    for (const id of (await idsOf()).difference(before)) {
      const object = states.get(states.idFromString(id));
      if ((await object.held()) === MiB) await runDurableObjectAlarm(object);
    }
    await expect.poll(() => sumOf(held)).toBeLessThan(8);
    await abortAllDurableObjects();
    expect(await call("drafts", "write", { text: "x".repeat(200_000) })).toBe("200000");
  });
});
