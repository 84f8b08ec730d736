/// <reference types="@cloudflare/vitest-plugin/types" />
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { StateRows } from "../../../src/state/state-rows.ts";
import { namespaceOf } from "../../../src/settings/env.ts";
import { sealingWith } from "../../../src/files/sealing.ts";
import { BLOCK } from "../../../src/wasm/marks.ts";

/** An instance whose guest sees one page of memory; the memory itself may have more. */
function instanceWith(pages: number) {
  const exports = {
    memory: new WebAssembly.Memory({ initial: pages }),
    edge_pages: new WebAssembly.Global({ value: "i32", mutable: true }, 1),
    edge_memory: new WebAssembly.Memory({ initial: 1 }),
    edge_marks: new WebAssembly.Memory({ initial: 1 }),
  };
  return { exports, guest: undefined, hasStarted: false, suspends: false };
}

const LAST = 65536 / BLOCK - 1;

/** Stores what a guest has written into some blocks of its memory, or behind it. */
function write(rows: StateRows, instance: ReturnType<typeof instanceWith>, ...numbers: number[]) {
  const { memory, edge_marks } = instance.exports;
  for (const nth of numbers) {
    new Uint8Array(memory.buffer)[nth * BLOCK] = 7;
    new Uint8Array(edge_marks.buffer)[nth] = 1;
  }
  const blocks = new Map<number, Uint8Array>();
  rows.save(rows.changed({ instance, vars: new Map(), blocks, used: new Uint8Array() }, "build"));
  return blocks;
}

/** Does work with the rows of a new database. */
const withRows = (work: (rows: StateRows, sql: SqlStorage) => void) =>
  runInDurableObject(
    namespaceOf(env, "SCRATCH")!.getByName(crypto.randomUUID()),
    (_one, { storage }) => {
      const rows = new StateRows(storage.sql, sealingWith(KEY));
      storage.transactionSync(() => work(rows, storage.sql));
    },
  );
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

test("blocks behind the memory, which earlier versions stored, are deleted", () =>
  withRows((rows, sql) => {
    write(rows, instanceWith(1), LAST);
    const sealed = sealingWith(KEY).seal(new Uint8Array(BLOCK).fill(9), `block ${LAST + 1}`);
    sql.exec("INSERT INTO blocks VALUES (?, ?)", LAST + 1, sealed);
    expect([...new StateRows(sql, sealingWith(KEY)).blocks().keys()]).toEqual([LAST]);
    const larger = instanceWith(2);
    rows.load(larger, "build");
    expect(byteAt(larger, LAST + 1)).toBe(0);
  }));
