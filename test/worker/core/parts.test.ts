import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { readSettings } from "../../../src/server/kernel/settings/env.ts";
import { PART, partsOf, valuesIn } from "../../../src/server/kernel/core/parts.ts";
import { SealedRows } from "../../../src/server/kernel/storage/sealed-rows.ts";
import type { States } from "../../../src/server/features/carried/states.ts";
import { sealerOf, Unreadable } from "../../../src/server/kernel/storage/vault.ts";

async function* copied(values: unknown[]) {
  // A part is good until the next one is asked for.
  for (const { bytes } of partsOf(values)) yield bytes.slice();
}

const long = (piece: string) => piece.repeat(Math.ceil((1.2 * PART) / piece.length));

describe("values are read as they were written", () => {
  test.each<[string, unknown[]]>([
    ["a small one", [{ a: [1, "two", null] }]],
    ["a long text", [long("abc")]],
    ["a text of characters beyond the basic plane", [{ text: long("a😀") }]],
    ["a text with a byte order mark in it", [long("\ufeffx")]],
    ["a text with a lone surrogate", [[long("a"), `${long("a")}\ud800`]]],
    ["a long key", [{ [long("key")]: 1 }]],
    ["several", [{ a: long("a"), b: [long("b"), 7] }, "\n", { c: null }]],
    ["many members", [Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [at, at]))]],
    [
      "nothing but marks",
      [
        ["0", "1"],
        ["", long("0")],
      ],
    ],
  ])("%s", async (_what, values) => {
    expect(await valuesIn(copied(values))).toEqual(values);
  });
});

describe("sealed rows", () => {
  const sealer = sealerOf(readSettings(env), env)!;
  const object = () => {
    const states = env.STATES!;
    return states.get(states.newUniqueId());
  };
  const entry = { what: "http GET a", digest: "00", answer: long("abc"), at: 1 };

  const inRows = (work: (rows: SealedRows, sql: SqlStorage) => Promise<void>) =>
    runInDurableObject(object(), async (_object: States, { storage: { sql } }) => {
      sql.exec(SealedRows.texts + SealedRows.answers);
      await work(new SealedRows(sql, sealer), sql);
    });

  test.each([
    ["left out", "DELETE FROM answers WHERE part = 1"],
    ["put in another's place", "UPDATE answers SET part = 5 WHERE part = 0"],
  ])("a part of which was %s cannot be read", (_what, change) =>
    inRows(async (rows, sql) => {
      (await rows.prepare({ answers: [[0, entry]] }))();
      expect(await rows.answers()).toEqual([entry]);
      sql.exec(change);
      await expect(rows.answers()).rejects.toThrow(Unreadable);
    }),
  );
});
