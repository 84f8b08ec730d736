/// <reference types="@cloudflare/vitest-plugin/types" />
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { CorruptState, StateRows } from "../../../src/server/features/state/state-rows.ts";
import { sealingWith } from "../../../src/server/kernel/files/sealing.ts";
import { StateSealing } from "../../../src/server/features/state/state-sealing.ts";
import { BLOCK, mark, MARKS_EXPORT } from "../../../src/server/kernel/wasm/marks.ts";

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
async function write(
  rows: StateRows,
  instance: ReturnType<typeof instanceWith>,
  ...numbers: number[]
) {
  const { memory, [MARKS_EXPORT]: marks } = instance.exports;
  for (const nth of numbers) {
    new Uint8Array(memory.buffer)[nth * BLOCK] = 7;
    mark(new Uint8Array(marks.buffer), nth * BLOCK, 1);
  }
  const blocks = new Map<number, Uint8Array>();
  const kept = { instance, vars: new Map(), blocks, used: new Uint8Array() };
  rows.save(await rows.seal(rows.changed(kept, "build")));
  return blocks;
}

/** Does work with the rows of a new database. */
const withRows = (work: (rows: StateRows, storage: DurableObjectStorage) => Promise<void>) =>
  runInDurableObject(env.SCRATCH!.getByName(crypto.randomUUID()), (_one, { storage }) => {
    return work(rowsIn(storage), storage);
  });
const KEY = new Uint8Array(32);
const rowsIn = ({ sql }: DurableObjectStorage) =>
  new StateRows(sql, new StateSealing(KEY, sealingWith(KEY)));

const byteAt = ({ exports }: ReturnType<typeof instanceWith>, nth: number) =>
  new Uint8Array(exports.memory.buffer)[nth * BLOCK];

test("a state that an instance with more memory has saved loads into one with less", () =>
  withRows(async (rows) => {
    await write(rows, instanceWith(2), LAST);
    const smaller = instanceWith(1);
    const { blocks } = await rows.load(smaller, "build");
    expect([...blocks.keys()]).toEqual([LAST]);
    expect(byteAt(smaller, LAST)).toBe(7);
  }));

test("what a guest writes behind its memory is zero for the next call, and not stored", () =>
  withRows(async (rows) => {
    const instance = instanceWith(2);
    const written = await write(rows, instance, LAST + 4, LAST);
    expect([...written.keys()]).toEqual([LAST]);
    expect(byteAt(instance, LAST + 4)).toBe(0);
    expect(byteAt(instance, LAST)).toBe(7);
  }));

test("an ending comes with what was said before it, as far as that is not larger than an output may be", () =>
  withRows(async (rows) => {
    const head = { version: 1, hash: "", input: "", seed: "seed", time: 0 };
    const data = "x".repeat(limits.outputBytes / 4);
    const notice = { method: "notifications/message", params: { data } };
    const ending = { kind: "returned", output: "", fuelUsed: 0 } as const;
    const call = { head, entries: [], notices: 0 };
    const said = { after: 0, notices: [notice, notice, notice, notice, notice] };
    rows.save(await rows.sealEnding(call, { ending, said }));
    expect(await rows.ending(call)).toEqual({
      ending,
      answers: [],
      said: { after: 0, notices: [notice, notice, notice] },
    });
  }));

test("what the cipher of earlier versions has sealed is read, and written again by the platform's", () =>
  withRows(async (rows, { sql }) => {
    const older = sealingWith(KEY);
    const rest = new TextEncoder().encode(JSON.stringify({ pages: 1, globals: [], vars: [] }));
    const block = new Uint8Array(BLOCK).fill(1);
    // Four bytes of a head, and one cell of the last block.
    const piece = new Uint8Array(4 + 16).fill(2);
    new DataView(piece.buffer).setUint32(0, ((LAST * BLOCK) / 16) * 256);
    sql.exec("INSERT INTO state VALUES (0, 'build', ?, 1)", older.seal(rest, "rest"));
    sql.exec("INSERT INTO blocks VALUES (?, ?)", LAST, older.seal(block, `block ${LAST}`));
    sql.exec("INSERT INTO pieces VALUES (0, 5, ?)", older.seal(piece, "pieces 5"));
    const instance = instanceWith(1);
    await rows.load(instance, "build");
    expect(byteAt(instance, LAST)).toBe(2);
    await write(rows, instance, LAST, LAST - 1);
    const sealed = sql.exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM blocks").toArray();
    expect(sealed.map(({ bytes }) => new TextDecoder().decode(bytes.slice(0, 7)))).toEqual([
      "AES-GCM",
      "AES-GCM",
    ]);
  }));

test("a row that was altered, or moved to the place of another, is not loaded", () =>
  withRows(async (rows, storage) => {
    await write(rows, instanceWith(1), LAST, LAST - 1);
    storage.sql.exec("UPDATE blocks SET nth = nth - 2");
    await expect(rowsIn(storage).load(instanceWith(1), "build")).rejects.toThrow(CorruptState);
  }));
