import { hash } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, test, vi } from "vitest";
import { builtFrom, INSTALLING, NEWS_AT_ONCE, Operator } from "../../../node/http/installing.ts";
import { serving } from "../../../node/http/serving.ts";

/**
 * What an installed servlet keeps outlives its server, and goes with the servlet into the bundle and back: Workers with and
 * without `notes` and `journal` in their bundle take turns on the same storage.
 */

const KEY = "key-of-boss";
const variables = {
  TEST_SERVLETS: "hello",
  TEST_LIMITS: JSON.stringify(NEWS_AT_ONCE),
  API_KEYS: JSON.stringify({ boss: { hash: hash("sha256", KEY), scopes: ["operator", "*:*"] } }),
};
const { url, restart } = await serving({ ...INSTALLING, variables });
const headers = { authorization: `Bearer ${KEY}` };
const operator = new Operator(url, headers);

/** Kills the server and starts it with these servlets in its bundle. */
async function restartWith(servlets: string): Promise<void> {
  variables.TEST_SERVLETS = servlets;
  await restart();
}

async function call(name: string, args: Record<string, unknown>): Promise<string> {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  try {
    return JSON.stringify((await client.callTool({ name, arguments: args })).content);
  } finally {
    await client.close();
  }
}

const install = async (name: string) => operator.put(await builtFrom(`plugins/${name}`, name));

const note = async (text: string) => call("add_note", { text });
const entry = async (text: string) => call("write_journal", { text });
const all = async () => `${await call("list_notes", {})} ${await call("search_journal", {})}`;

test("from installed to bundled and back, with its server killed each time", async () => {
  await install("notes");
  await install("journal");
  await vi.waitFor(() => call("list_notes", {}), 10_000);
  await note("first note");
  await entry("first entry");
  await restart();
  expect(await all()).toMatch(/first note.*first entry/s);
  await note("second note");
  await entry("second entry");
  await restartWith("hello,notes,journal");
  expect(await all()).toMatch(/second note.*first note.*second entry.*first entry/s);
  await note("third note");
  await entry("third entry");
  await restartWith("hello");
  expect(await all()).toMatch(
    /third note.*second note.*first note.*third entry.*second entry.*first entry/s,
  );
  for (const name of ["notes", "journal"]) await operator.json("DELETE", `state/${name}`);
  expect(await all()).not.toMatch(/first|second|third/);
});
