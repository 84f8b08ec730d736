/// <reference types="@cloudflare/vitest-plugin/types" />
import { unsettled } from "../../../src/server/kernel/core/settled.ts";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { FacetBackend } from "../../../src/server/features/installs/state-facet.ts";
import { OwnBackend } from "../../../src/server/features/state/state-backend.ts";
import type { JournalHead, Recorded } from "../../../src/server/kernel/core/record.ts";
import { prepare } from "../../worker/calls/client.ts";
import {
  bundled,
  callIn,
  fileIn,
  inFacet,
  installed,
  newScope,
} from "../../worker/installs/installed.ts";

/** State that moves as its servlet goes from the bundle to an install, or back, and what can happen meanwhile. */
prepare();

const KINDS = {
  bundled: { servlet: bundled, backend: OwnBackend },
  installed: { servlet: installed, backend: FacetBackend },
};

const WRITES = /^\s*(INSERT|UPDATE|DELETE|CREATE|DROP)/;

/** Of the writes of a move each third is tried. */
const STEP = 3;

/** Has one write to the database of the object fail: the one after so many others. */
function failingWrite({ storage: { sql } }: DurableObjectState, before: number) {
  const own = Object.getPrototypeOf(sql) as SqlStorage;
  const { exec } = own;
  const done = { writes: 0 };
  const spy = vi.spyOn(own, "exec").mockImplementation(function (this: SqlStorage, ...statement) {
    if (WRITES.test(statement[0]) && done.writes++ === before) throw new Error("The disk failed.");
    return exec.apply(this, statement) as never;
  });
  return { done, restore: () => spy.mockRestore() };
}

describe.each([
  ["bundled", "installed"],
  ["installed", "bundled"],
] as const)("from %s to %s", (before, after) => {
  const { servlet: from, backend: left } = KINDS[before];
  const { servlet: to } = KINDS[after];

  /** A scope, and the tools of both guests there. */
  function newGuests() {
    const scope = newScope();
    const { within } = scope;
    return {
      ...scope,
      next: (servlet: typeof from) =>
        within((object) => callIn(object, servlet("counting"), "next")),
      file: (servlet: typeof from, does: string, text = "") =>
        within((object) => fileIn(object, servlet("filing"), does, text)),
      /** Runs a statement where the state is before. */
      inPlace: (statement: string) =>
        within((_object, state) =>
          before === "bundled"
            ? state.storage.sql.exec(statement).toArray()
            : inFacet(state, statement),
        ),
    };
  }

  async function counted() {
    const guests = newGuests();
    expect(await guests.next(from)).toBe("1");
    return guests;
  }

  test("it goes along", async () => {
    const { next } = await counted();
    expect(await next(to)).toBe("2");
    expect(await next(to)).toBe("3");
    expect(await next(from)).toBe("4");
  });

  test("a call that is run again from its record there does not count twice", async () => {
    const { within, next } = newGuests();
    const heads: JournalHead[] = [];
    const keeper = {
      begin: async (head: JournalHead) => void heads.push(head),
      keep: async () => {},
    };
    const call = (servlet: typeof from, recorded?: Recorded) =>
      within((object) =>
        callIn(
          object,
          servlet("counting"),
          "next",
          {},
          {
            keeper,
            ...(recorded && { recorded }),
          },
        ),
      );
    expect(await call(from)).toBe("1");
    expect(await next(to)).toBe("2");
    expect(await call(to, { head: heads[0]!, entries: [], notices: 0 })).toBe("1");
    expect(await call(from, { head: heads[0]!, entries: [], notices: 0 })).toBe("1");
    expect(await next(from)).toBe("3");
  });

  test("at each write that fails, nothing is lost and nothing counts twice", async () => {
    for (let nth = 0; ; nth += STEP) {
      const { next, within } = await counted();
      const { said, writes } = await within(async (object, state) => {
        const { done, restore } = failingWrite(state, nth);
        const text = await callIn(object, to("counting"), "next");
        restore();
        return { said: text, ...done };
      });
      const count = said === "2" ? 2 : 1;
      const [one, other] = nth % (2 * STEP) === 0 ? [from, to] : [to, from];
      expect({ nth, said: await next(one) }).toEqual({ nth, said: `${count + 1}` });
      expect({ nth, said: await next(other) }).toEqual({ nth, said: `${count + 2}` });
      if (writes <= nth) break;
    }
  });

  test("a crash before the old copy is deleted leaves the state whole, in either backend", async () => {
    const { next, within } = await counted();
    const crash = vi.spyOn(left.prototype, "delete").mockImplementationOnce(() => {
      throw new Error("The server has crashed.");
    });
    expect(await next(to)).toBe("Internal error");
    expect(crash).toHaveBeenCalledOnce();
    const served = { bundles: false };
    const summary = await within((object) => object.summary({ name: "counting" }), served);
    expect(unsettled(summary).memoryBytes).toBeGreaterThan(0);
    expect(await within((object) => object.held(), served)).toBeGreaterThan(0);
    expect(await next(from)).toBe("2");
    expect(await next(to)).toBe("3");
  });

  test.each(["state", "blocks"])(
    "an altered row of %s is refused, until it is deleted",
    async (table) => {
      const { next, within, inPlace } = await counted();
      await inPlace(`UPDATE ${table} SET bytes = zeroblob(length(bytes))`);
      const refusal = /can no longer be read.*state delete counting/;
      expect(await next(to)).toMatch(refusal);
      expect(await next(from)).toMatch(refusal);
      expect(await next(to)).toMatch(refusal);
      expect(await within((object) => object.forget())).toEqual({ value: undefined });
      expect(await next(to)).toBe("1");
    },
  );

  test.each([
    ["nodes", /^I\/O error$/],
    ["totals", /can no longer be read.*state delete filing/],
    ["blocks", /^$/],
    ["entries", /^I\/O error$/],
  ])("an altered row of file_%s is an error there as it was before", async (table, error) => {
    const { file, within, inPlace } = newGuests();
    expect(await file(from, "write", "text")).toBe("done");
    await inPlace(`UPDATE file_${table} SET value = zeroblob(length(value))`);
    for (const servlet of [from, to, from]) expect(await file(servlet, "read")).toMatch(error);
    await within((object) => object.forget());
    expect(await file(to, "read")).toBe("No such file or directory");
  });

  /** Has copying crash after so many batches. */
  function cutOff(batches: number) {
    let more = batches;
    const { rowsAt } = left.prototype;
    const spy = vi.spyOn(left.prototype, "rowsAt").mockImplementation(function (
      this: OwnBackend & FacetBackend,
      at,
    ) {
      if (more-- > 0) return rowsAt.call(this, at);
      throw new Error("The server has crashed.");
    });
    const restore = () => spy.mockRestore();
    onTestFinished(restore);
    return restore;
  }

  test("copying that was cut off begins anew", async () => {
    const { file } = newGuests();
    await file(from, "fill", "3");
    const listed = await file(from, "list");
    const restore = cutOff(5);
    expect(await file(to, "list")).toBe("Internal error");
    restore();
    expect(await file(to, "list")).toBe(listed);
  });

  test("copying that was cut off begins anew where the state was used since", async () => {
    const { file } = newGuests();
    await file(from, "fill", "3");
    const restore = cutOff(5);
    expect(await file(to, "list")).toBe("Internal error");
    restore();
    expect(await file(from, "remove")).toBe("done");
    expect(await file(from, "write", "new")).toBe("done");
    expect(await file(to, "read")).toBe("new");
  });

  test("files go along if the memory is of another build, even if it cannot be read", async () => {
    const { file, inPlace } = newGuests();
    await file(from, "write", "text");
    await inPlace("UPDATE state SET hash = 'another', bytes = zeroblob(length(bytes))");
    expect(await file(to, "read")).toBe("text");
    expect(await file(from, "read")).toBe("text");
  });

  test("files go along even if they exceed the present limit", async () => {
    const { manifest } = bundled("filing");
    onTestFinished(() => void delete manifest.files_limit);
    const { file } = newGuests();
    await file(from, "fill", "1");
    manifest.files_limit = "16Ki";
    expect(await file(to, "list")).toBe("a ");
    expect(await file(to, "fill", "2")).toBe("No space left on device");
    expect(await file(to, "remove")).toBe("done");
  });
});

test("a move that fails because code is missing leaves the state where it was", async () => {
  const { within } = newScope();
  const call = (servlet: ReturnType<typeof bundled>) =>
    within((object) => callIn(object, servlet, "next"));
  expect(await call(bundled("counting"))).toBe("1");
  const lacking = { ...installed("counting"), hash: "lacking", parts: { module: "nowhere" } };
  expect(await call(lacking)).toMatch(/^The servlet counting was stopped/);
  const served = { bundles: false };
  const summary = await within((object) => object.summary({ name: "counting" }), served);
  expect(unsettled(summary).memoryBytes).toBeGreaterThan(0);
  expect(await within((object) => object.held(), served)).toBeGreaterThan(0);
  expect(await call(installed("counting"))).toBe("2");
});

test("state of an installed servlet waits for the loader, and counts in full meanwhile", async () => {
  const { within } = newScope();
  const next = (served = {}) =>
    within((object) => callIn(object, bundled("counting"), "next"), served);
  expect(await within((object) => callIn(object, installed("counting"), "next"))).toBe("1");
  const served = { by: undefined };
  expect(await next(served)).toMatch(/bindings LOADER and BUILDS.*state delete/);
  expect(await within((object) => object.summary({ name: "counting" }), served)).toMatchObject({
    code: "unavailable",
  });
  await expect(within((object) => object.held(), { ...served, bundles: false })).rejects.toThrow(
    /LOADER/,
  );
  expect(await next()).toBe("2");
  expect(await next(served)).toBe("3");
});

test("state of an installed servlet can be deleted without the loader", async () => {
  const { within } = newScope();
  expect(await within((object) => callIn(object, installed("counting"), "next"))).toBe("1");
  expect(await within((object) => object.forget(), { by: undefined })).toEqual({
    value: undefined,
  });
  expect(await within((object) => callIn(object, bundled("counting"), "next"))).toBe("1");
  expect(await within((object) => callIn(object, installed("counting"), "next"))).toBe("2");
});
