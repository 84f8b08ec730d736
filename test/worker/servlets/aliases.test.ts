import { describe, expect, test } from "vitest";
import { callOf, changed, prepare, send, serverOf, textIn } from "../calls/client.ts";

/** Earlier names of tools. */
prepare();

const manifest = { tools: { greet: { aliases: ["say_hello", "now"] } } };
const bundle = changed("hello", () => ({ manifest }));
const server = serverOf(bundle);
const GREET = bundle.servlets.find(({ name }) => name === "hello")!.lists!.tools[0]!;
const call = async (name: string, of = server) =>
  textIn(await callOf(name, { name: "Ada" }, { server: of }));

describe("an earlier name of a tool", () => {
  test("calls the tool, and is not listed", async () => {
    expect(await call("say_hello")).toBe("Hello, Ada!");
    const { result } = await send("tools/list", {}, { server });
    const names = result!["tools"].map(({ name }: { name: string }) => name);
    expect(names).toContain("greet");
    expect(names).not.toContain("say_hello");
  });

  test("has the prefix of its servlet", async () => {
    const prefixed = serverOf(changed("hello", () => ({ manifest: { ...manifest, prefix: "a" } })));
    expect(await call("a-say_hello", prefixed)).toBe("Hello, Ada!");
    await expect(call("say_hello", prefixed)).rejects.toThrow(/Unknown tool: say_hello/);
  });

  test("is that of the tool which has it now", async () => {
    const { result } = await callOf("now", {}, { server });
    expect(result).toHaveProperty("structuredContent");
  });

  test("is that of the first of two servlets", async () => {
    const servlets = bundle.servlets.map((one) =>
      one.name === "translate"
        ? { ...one, manifest: { tools: { translate: { aliases: ["say_hello"] } } } }
        : one,
    );
    expect(await call("say_hello", serverOf({ ...bundle, servlets }))).toBe("Hello, Ada!");
  });

  test("of a tool that another servlet's hides is hidden, too", async () => {
    const servlets = bundle.servlets.map((one) =>
      one.name === "clock"
        ? { ...one, lists: { ...one.lists!, tools: [...one.lists!.tools, { ...GREET }] } }
        : one,
    );
    const hiding = serverOf({ ...bundle, servlets });
    await expect(call("say_hello", hiding)).rejects.toThrow(/Unknown tool: say_hello/);
  });

  test("needs no headers that repeat arguments, but right ones", async () => {
    const tools = { test_x_mcp_header: { aliases: ["region"] } };
    const sent = { server: serverOf(changed("conformance", () => ({ manifest: { tools } }))) };
    const regionBy = (headers: Record<string, string>) =>
      callOf("region", { region: "eu" }, { ...sent, headers });
    expect(textIn(await regionBy({}))).toBe("Region: eu");
    expect(textIn(await regionBy({ "mcp-param-region": "eu" }))).toBe("Region: eu");
    const { error } = await regionBy({ "mcp-param-region": "us" });
    expect(error?.message).toContain("is not what the body has as region");
  });

  test("gives nobody a tool whose scopes lack it", async () => {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("ada"));
    const hash = new Uint8Array(digest).toHex();
    const narrow = serverOf(bundle, {
      API_KEYS: JSON.stringify({ ada: { hash, scopes: ["clock:*"] } }),
    });
    const sent = { server: narrow, headers: { authorization: "Bearer ada" } };
    const { error } = await callOf("say_hello", { name: "Ada" }, sent);
    expect(error?.message).toMatch(/hello:greet|scope/);
  });
});
