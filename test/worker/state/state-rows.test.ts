/// <reference types="@cloudflare/vitest-plugin/types" />
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { limits } from "../../../src/core/limits.ts";
import { StateRows } from "../../../src/state/state-rows.ts";
import { sealingWith } from "../../../src/files/sealing.ts";
import { BLOCK, mark, MARKS_EXPORT } from "../../../src/wasm/marks.ts";

/** An instance whose guest sees one page of memory; the memory itself may have more. */
function instanceWith(pages: number) {
  const exports = {
    memory: new WebAssembly.Memory({ initial: pages }),
    edge_pages: new WebAssembly.Global({ value: "i32", mutable: true }, 1),
    edge_memory: new WebAssembly.Memory({ initial: 1 }),
    [MARKS_EXPORT]: new WebAssembly.Memory({ initial: 1 }),
  };
  return { exports, guest: undefined, hasStarted: false, suspends: false };
}

const LAST = 65536 / BLOCK - 1;

/** Stores what a guest has written into some blocks of its memory, or behind it. */
function write(rows: StateRows, instance: ReturnType<typeof instanceWith>, ...numbers: number[]) {
  const { memory, [MARKS_EXPORT]: marks } = instance.exports;
  for (const nth of numbers) {
    new Uint8Array(memory.buffer)[nth * BLOCK] = 7;
    mark(new Uint8Array(marks.buffer), nth * BLOCK, 1);
  }
  const blocks = new Map<number, Uint8Array>();
  rows.save(rows.changed({ instance, vars: new Map(), blocks, used: new Uint8Array() }, "build"));
  return blocks;
}

/** Does work with the rows of a new database. */
const withRows = (work: (rows: StateRows) => void) =>
  runInDurableObject(env.SCRATCH!.getByName(crypto.randomUUID()), (_one, { storage }) => {
    const rows = new StateRows(storage.sql, sealingWith(KEY));
    storage.transactionSync(() => work(rows));
  });
const KEY = new Uint8Array(32);

const byteAt = ({ exports }: ReturnType<typeof instanceWith>, nth: number) =>
  new Uint8Array(exports.memory.buffer)[nth * BLOCK];

test("a state that an instance with more memory has saved loads into one with less", () =>
  withRows((rows) => {
    write(rows, instanceWith(2), LAST);
    const smaller = instanceWith(1);
    expect([...rows.load(smaller, "build").blocks.keys()]).toEqual([LAST]);
    expect(byteAt(smaller, LAST)).toBe(7);
  }));

test("what a guest writes behind its memory is zero for the next call, and not stored", () =>
  withRows((rows) => {
    const instance = instanceWith(2);
    expect([...write(rows, instance, LAST + 4, LAST).keys()]).toEqual([LAST]);
    expect(byteAt(instance, LAST + 4)).toBe(0);
    expect(byteAt(instance, LAST)).toBe(7);
  }));

test("an ending comes with what was said before it, as far as that is not larger than an output may be", () =>
  withRows((rows) => {
    const head = { version: 1, hash: "", input: "", seed: "seed", time: 0 };
    const data = "x".repeat(limits.outputBytes / 4);
    const notice = { method: "notifications/message", params: { data } };
    const ending = { kind: "returned", output: "", fuelUsed: 0 } as const;
    const call = { head, entries: [], notices: 0 };
    const said = { after: 0, notices: [notice, notice, notice, notice, notice] };
    rows.saveEnding(call, { ending, said });
    expect(rows.ending(call)).toEqual({
      ...{ ending, answers: [] },
      said: { after: 0, notices: [notice, notice, notice] },
    });
  }));
