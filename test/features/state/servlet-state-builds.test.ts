/// <reference types="@cloudflare/vitest-plugin/types" />
import { abortAllDurableObjects, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { newAddress, prepare, send, type Sent } from "../../worker/calls/client.ts";

/** A servlet's memory when its build changes. */
prepare();

const states = (env as unknown as { SERVLET_STATES: DurableObjectNamespace }).SERVLET_STATES;

test("the memory of another build stays until a call of the new one has succeeded", async () => {
  const caller: Sent = { headers: { "cf-connecting-ip": newAddress() } };
  const text = async (name: string): Promise<string> => {
    const { result, error } = await send("tools/call", { name: `counting-${name}` }, caller);
    return error?.message ?? (result!["content"] as { text: string }[])[0]!.text;
  };
  const before = new Set((await listDurableObjectIds(states)).map(String));
  expect(await text("next")).toBe("1");
  const id = (await listDurableObjectIds(states)).find((one) => !before.has(String(one)))!;
  const rows = <T>(query: string): Promise<T[]> =>
    runInDurableObject(
      states.get(id),
      (_object, { storage }) => storage.sql.exec(query).toArray() as T[],
    );
  const isOf = async (hash: string) => {
    await rows(`UPDATE state SET hash = '${hash}'`);
    await abortAllDurableObjects();
  };
  const [{ hash }] = (await rows<{ hash: string }>("SELECT hash FROM state")) as [{ hash: string }];

  await isOf("another");
  expect(await text("spin")).toMatch(/comput/);
  await isOf(hash);
  expect(await text("next")).toBe("2");

  await isOf("another");
  const blocks = await rows<{ nth: number }>("SELECT nth FROM blocks");
  expect(await text("next")).toBe("1");
  await abortAllDurableObjects();
  expect(await text("next")).toBe("2");
  expect((await rows("SELECT nth FROM blocks")).length).toBeLessThanOrEqual(blocks.length);
});
