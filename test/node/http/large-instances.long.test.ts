import { expect, test } from "vitest";
import { residentMB } from "../workerd.ts";
import { serving } from "./serving.ts";

/** Calls that take as much memory as a servlet may have, against workerd itself: V8 frees what is dropped when it likes to. */
const { url, served } = await serving();

async function call(name: string): Promise<string> {
  const params = { name, arguments: {} };
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  return response.text();
}

const CALLS = 24;

test.each([
  ["a servlet whose instances are put back", "swell"],
  ["a servlet whose instances serve one call each", "swell_table"],
])("%s takes the memory of a few calls, however many there are", async (_which, name) => {
  const before = await residentMB(served());
  for (let nth = 0; nth < CALLS / 2; nth++) expect(await call(name)).toContain("done");
  const together = Array.from({ length: CALLS / 2 }, () => call(name));
  for (const text of await Promise.all(together)) expect(text).toContain("done");
  // Each writes 56 MiB.
  expect((await residentMB(served())) - before).toBeLessThan(400);
});
