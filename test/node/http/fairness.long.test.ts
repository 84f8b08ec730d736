import { expect, test } from "vitest";
import { serving } from "./serving.ts";

/** Callers who compute beside others, against workerd itself, which delivers nothing while a guest computes. */
const { url } = await serving();

async function call(
  address: string,
  name: string,
  args: object,
  signal = new AbortController().signal,
): Promise<string> {
  const params = { name, arguments: args };
  const response = await fetch(url, {
    method: "POST",
    signal,
    headers: { "content-type": "application/json", "cf-connecting-ip": address },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  return response.text();
}

const MANY = 40;

test.each([
  ["a servlet that cannot be suspended", "rest"],
  ["a servlet that calls its host", "away-host"],
  ["a servlet with state", "counting-spin"],
])("many calls of %s leave room for other callers", async (_which, name) => {
  let ended = 0;
  const first = Promise.withResolvers<void>();
  const calls = Array.from({ length: MANY }, async () => {
    await call("192.0.2.1", name, {});
    ended++;
    first.resolve();
  });
  await first.promise;
  const before = ended;
  expect(await call("192.0.2.2", "greet", { name: "Ada" })).toContain("Hello, Ada!");
  expect(ended - before).toBeLessThan(MANY / 2);
  await Promise.all(calls);
});

test("calls whose clients have left while they waited hold nobody up", async () => {
  const leaving = new AbortController();
  const first = Promise.withResolvers<void>();
  const calls = Array.from({ length: MANY }, () =>
    call("192.0.2.1", "rest", {}, leaving.signal).then(
      () => first.resolve(),
      () => {},
    ),
  );
  await first.promise;
  leaving.abort();
  await Promise.all(calls);
  for (const address of ["192.0.2.1", "192.0.2.2"])
    expect(await call(address, "greet", { name: "Ada" })).toContain("Hello, Ada!");
});
