import { expect, test } from "vitest";
import { hashed } from "../../worker/auth/key-holders.ts";
import { profiled } from "../../worker/profiles.ts";

test("a key that is bound to a profile has no tools", async () => {
  const { key } = JSON.parse(await hashed(["key"])) as { key: string };
  const API_KEYS = JSON.stringify({ key: { hash: key, scopes: ["profile:support"] } });
  const headers = { authorization: "Bearer key" };
  const listed = await profiled({ API_KEYS }).fetch(
    new Request("http://localhost:8787/tools", { headers }),
  );
  expect(((await listed.json()) as { items: unknown[] }).items).toEqual([]);
});
