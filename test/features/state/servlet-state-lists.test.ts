/// <reference types="@cloudflare/vitest-plugin/types" />
import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { bundle } from "../../bundle.gen.ts";
import {
  as,
  changed,
  keyed,
  newAddress,
  prepare,
  send,
  serverOf,
  type Json,
  type Sent,
} from "../../worker/calls/client.ts";

/** Servlets whose lists depend on their state, and who hears that these have changed. */
prepare();

/** A new caller: anonymous, from an address of its own. */
const newCaller = (): Sent => ({
  headers: { "cf-connecting-ip": newAddress() },
});

/** Adds a tool; `which` says for whom the servlet's memory lasts. */
const add = (name: string, sent: Sent, which = "growing", tool = "add") =>
  send("tools/call", { name: `${which}-${tool}`, arguments: { name } }, sent);

async function listed(sent: Sent, which = "growing"): Promise<string[]> {
  const { result } = await send("tools/list", {}, sent);
  const names = (result!["tools"] as { name: string }[]).map(({ name }) => name);
  return names.filter((name) => name.startsWith(`${which}-`)).map((name) => name.split("-")[1]!);
}
const OWN = ["add", "add_later", "add_and_trap", "grow"];

describe("lists", () => {
  test("show what a call of the same caller has added, which can be called", async () => {
    const [ada, bob] = [newCaller(), newCaller()];
    expect(await listed(ada)).toEqual(OWN);
    await add("one", ada);
    expect(await listed(ada)).toEqual([...OWN, "one"]);
    expect(await listed(bob)).toEqual(OWN);
    const { result } = await send("tools/call", { name: "growing-one" }, ada);
    expect(result).toMatchObject({ content: [{ text: "one of 1" }] });
    const { error } = await send("tools/call", { name: "growing-one" }, bob);
    expect(error!.message).toMatch(/Unknown tool: growing-one/);
  });

  test("have a tool that another servlet has an alias for", async () => {
    const manifest = { tools: { greet: { aliases: ["growing-one"] } } };
    const server = serverOf(changed("hello", () => ({ manifest })));
    const ada = { ...newCaller(), server };
    const call = async () => {
      const params = { name: "growing-one", arguments: { name: "Ada" } };
      return (await send("tools/call", params, ada)).result!["content"][0].text;
    };
    expect(await call()).toBe("Hello, Ada!");
    await add("one", ada);
    expect(await call()).toBe("one of 1");
  });

  test("outlive the object that has them", async () => {
    const ada = newCaller();
    await add("one", ada);
    await abortAllDurableObjects();
    expect(await listed(ada)).toEqual([...OWN, "one"]);
  });

  test("are as they were after a call that crashed", async () => {
    const ada = newCaller();
    await add("one", ada);
    expect((await add("two", ada, "growing", "add_and_trap")).result).toMatchObject({
      isError: true,
    });
    expect(await listed(ada)).toEqual([...OWN, "one"]);
  });

  test("are not for others, and not for later", async () => {
    const { result } = await send("tools/list", {}, newCaller());
    expect(result).toMatchObject({ ttlMs: 0, cacheScope: "private" });
  });

  test("hold back what scopes do not grant", async () => {
    const name = crypto.randomUUID();
    const keys = await keyed(name);
    await add("one", { server: keys, ...as(name) });
    const hash = new Uint8Array(
      await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name)),
    ).toHex();
    const narrow = serverOf(bundle, {
      API_KEYS: JSON.stringify({ [name]: { hash, scopes: ["growing:add"] } }),
    });
    const sent = { server: narrow, ...as(name) };
    expect(await listed(sent)).toEqual(["add"]);
    const { status, error } = await send("tools/call", { name: "growing-one" }, sent);
    expect({ status, message: error?.message }).toEqual({
      status: 403,
      message: expect.stringMatching(/lacks the scope growing:one/),
    });
  });
});

test.each([
  ["growing", "Ada"],
  ["growing_server", "anonymous"],
])(
  "lists made with a servlet's state are made for the caller, or for nobody where all share it: %s",
  async (name, asker) => {
    const lines: string[] = [];
    vi.spyOn(console, "log").mockImplementation((line) => void lines.push(String(line)));
    await abortAllDurableObjects();
    await listed({ server: await keyed("Ada"), ...as("Ada") });
    const runs = lines
      .map((line) => JSON.parse(line) as Json)
      .filter((run) => run["servlet"] === name && run["export"] === "list_tools");
    expect(runs.map((run) => run["principal"])).toEqual([asker]);
  },
);
