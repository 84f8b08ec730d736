/// <reference types="@cloudflare/vitest-plugin/types" />
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { StateRows } from "../../../src/durable/state-rows.ts";
import { namespaceOf } from "../../../src/env.ts";
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

test("what was written at the end of a memory that had been larger fits into one that was not", async () => {
  await runInDurableObject(
    namespaceOf(env, "SCRATCH")!.getByName("state-rows"),
    (_one, { storage }) => {
      const rows = new StateRows(storage.sql, sealingWith(new Uint8Array(32)));
      const larger = instanceWith(2);
      const last = 65536 / BLOCK - 1;
      new Uint8Array(larger.exports.memory.buffer)[last * BLOCK] = 7;
      new Uint8Array(larger.exports.edge_marks.buffer)[last] = 1;
      const blocks = new Map<number, Uint8Array>();
      const changed = rows.changed({ instance: larger, vars: new Map(), blocks }, "build");
      storage.transactionSync(() => rows.save(changed));
      const smaller = instanceWith(1);
      rows.load(smaller, "build", undefined);
      expect(new Uint8Array(smaller.exports.memory.buffer)[last * BLOCK]).toBe(7);
      expect([...rows.blocks().keys()]).toEqual([last]);
      // As earlier versions stored it.
      const behind = new Map([...rows.blocks(), [last + 1, new Uint8Array(BLOCK)]]);
      expect(rows.load(instanceWith(1), "build", behind)).toEqual({
        vars: new Map(),
        blocks: behind,
      });
    },
  );
});
