import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import type { KeyRing } from "../../../src/server/kernel/storage/key-ring.ts";
import { Sealer } from "../../../src/server/kernel/storage/vault.ts";

/** What is sealed is opened at its own place only, and whole. */
const key = { id: 7, bytes: crypto.getRandomValues(new Uint8Array(32)) };
const sealer = new Sealer({
  current: () => ({ ...key, until: Infinity }),
  lasting: () => key.bytes,
  byId: (id) => (id === key.id ? key : undefined),
});
afterEach(() => void vi.useRealTimers());
const text = new TextEncoder().encode("an answer");

test("a sealed value opens at its place, and at no other", async () => {
  const sealed = await sealer.seal(text, "answer 3 of ada");
  expect(await sealer.open(sealed, "answer 3 of ada")).toEqual(text);
  for (const place of ["answer 4 of ada", "answer 3 of bob", "", undefined]) {
    expect(await sealer.open(sealed, place)).toBeUndefined();
  }
  expect(await sealer.open(await sealer.seal(text), "answer 3 of ada")).toBeUndefined();
});

test("a text that was sealed for one purpose is not taken for another", async () => {
  const sealed = await sealer.sealText({ name: "ada" }, "sign-in");
  expect(await sealer.openText(sealed, "sign-in")).toEqual({ name: "ada" });
  expect(await sealer.openText(sealed, "form")).toBeUndefined();
  expect(await sealer.openText(`${sealed}!`, "sign-in")).toBeUndefined();
});

test("nothing opens that was changed or cut, or whose key is not known", async () => {
  const sealed = await sealer.seal(text, "place");
  for (const at of [0, 3, 4, 15, 16, sealed.length - 1]) {
    const changed = sealed.slice();
    changed[at]! ^= 1;
    expect(await sealer.open(changed, "place")).toBeUndefined();
  }
  for (const length of [0, 4, 16, sealed.length - 1]) {
    expect(await sealer.open(sealed.slice(0, length), "place")).toBeUndefined();
  }
});

test("the key is asked for again within the hour, also where the clock was far ahead", async () => {
  const known = [7, 8].map((id) => ({ id, bytes: crypto.getRandomValues(new Uint8Array(32)) }));
  let current = known[0]!;
  const ring = new Sealer({
    current: () => current,
    lasting: () => current.bytes,
    byId: (id) => known.find((one) => one.id === id),
  });
  const sealedWith = async () => new DataView((await ring.seal(text)).buffer).getUint32(0);
  vi.useFakeTimers({ toFake: ["Date"] });
  const now = Date.now();
  vi.setSystemTime(now + 40 * 86_400_000);
  expect(await sealedWith()).toBe(7);
  current = known[1]!;
  vi.setSystemTime(now + 40 * 86_400_000 + 3_500_000);
  expect(await sealedWith()).toBe(7);
  vi.setSystemTime(now);
  expect(await sealedWith()).toBe(8);
  current = known[0]!;
  vi.setSystemTime(now + 3_700_000);
  expect(await sealedWith()).toBe(7);
});

test("the ring makes a key each month, and forgets those that nothing can need but for the last", async () => {
  const ring = (env as unknown as { KEY_RING: DurableObjectNamespace<KeyRing> }).KEY_RING.getByName(
    crypto.randomUUID(),
  );
  vi.useFakeTimers({ toFake: ["Date"] });
  const now = Date.now();
  const inDays = async (days: number) => {
    vi.setSystemTime(now + days * 86_400_000);
    return (await ring.current()).id;
  };
  expect([await inDays(0), await inDays(29), await inDays(31)]).toEqual([1, 1, 2]);
  expect([await inDays(62), await ring.byId(1), (await ring.byId(2))?.id]).toEqual([
    3,
    undefined,
    2,
  ]);
  // A clock that is wrong for a moment.
  await inDays(500);
  vi.setSystemTime(now + 62 * 86_400_000);
  expect((await ring.byId(3))?.id).toBe(3);
});
