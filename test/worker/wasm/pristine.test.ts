import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { Guest } from "../../../src/server/kernel/wasm/guest.ts";
import { fingerprint } from "../../../src/server/kernel/wasm/image.ts";
import { Journal } from "../../../src/server/kernel/wasm/journal.ts";
import { startWorld } from "../../../src/server/kernel/wasm/world.ts";
import { instantiate } from "../../../src/server/kernel/wasm/link.ts";
import { idleInstances, nobody } from "../../../src/server/kernel/wasm/pool.ts";
import { app, ask, callTool, modern, post, settings, textOf } from "../server.ts";

const servlet = (name: string) => bundle.servlets.find((one) => one.name === name)!;

describe("nothing that a call leaves is found by the next", () => {
  test.each(["hide", "hide_trap", "hide_grow", "hide_refuse", "hide_throw", "hide_unread"])(
    "%s",
    async (name) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      vi.spyOn(console, "warn").mockImplementation(() => {});
      for (let round = 0; round < 3; round++) {
        await callTool(name);
        expect(await textOf("seek")).toBe("nothing");
      }
    },
  );

  test("a call whose client has left", async () => {
    vi.spyOn(console, "info").mockImplementation(() => {});
    const client = new AbortController();
    const { body, headers } = modern("tools/call", { name: "hide_sleep" });
    const request = new Request("http://localhost:8787/mcp", {
      method: "POST",
      signal: client.signal,
      headers: { ...headers, "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(body),
    });
    const answer = Promise.resolve(app.fetch(request));
    await new Promise((resolve) => setTimeout(resolve, 20));
    client.abort();
    await answer;
    expect(await textOf("seek")).toBe("nothing");
  });
});

test("a servlet that changes tables and drops segments", async () => {
  for (let round = 0; round < 3; round++) expect(await textOf("mark_table")).toBe("clean");
  expect(idleInstances(servlet("tables"))).toBe(0);
});

describe("start functions", () => {
  test("that look at nothing run once, and what they left is there in every call", async () => {
    expect(servlet("startup").patch).toBeDefined();
    for (let round = 0; round < 3; round++) expect(await textOf("order")).toBe("ab  ");
  });

  test("that seed a servlet run in every call", async () => {
    expect(servlet("seeded").startsOnce).toBe(false);
    const seeds = new Set<string>();
    for (let round = 0; round < 5; round++) seeds.add(await textOf("seed"));
    expect(seeds.size).toBe(5);
    expect(idleInstances(servlet("seeded"))).toBeGreaterThan(0);
  });
});

test("a byte, a kernel's byte or a global that was not put back shows in the fingerprint", () => {
  const nothing = new Journal({ hash: "", input: "" }, startWorld, undefined);
  const { exports } = instantiate(servlet("startup"), new Guest(nobody, nothing));
  const born = fingerprint(exports);
  const memories = [exports["memory"], exports["edge_memory"]] as WebAssembly.Memory[];
  for (const { buffer } of memories) {
    const last = new Uint8Array(buffer, buffer.byteLength - 1);
    last[0] = 1;
    expect(fingerprint(exports)).not.toBe(born);
    last[0] = 0;
  }
  const global = exports["edge_global_0"] as WebAssembly.Global;
  global.value++;
  expect(fingerprint(exports)).not.toBe(born);
  global.value--;
  expect(fingerprint(exports)).toBe(born);
});

test("every tool of every servlet leaves an instance that can be put back whole", async () => {
  for (const level of ["error", "warn", "info", "log", "debug"] as const) {
    vi.spyOn(console, level).mockImplementation(() => {});
  }
  const { result } = await ask("tools/list");
  const sample = (schema: any): unknown =>
    schema.enum?.[0] ??
    { string: "https://example.invalid/", number: 1, integer: 1, boolean: true }[
      schema.type as string
    ] ??
    (schema.type === "array" ? [sample(schema.items ?? {}), sample(schema.items ?? {})] : {});
  const twice = async ({ name, inputSchema }: any) => {
    const args = Object.fromEntries(
      (inputSchema.required ?? []).map((key: string) => [key, sample(inputSchema.properties[key])]),
    );
    for (let round = 0; round < 2; round++) {
      const { status, error } = await callTool(name, args);
      expect(`${name}: ${status} ${error?.message ?? ""}`).not.toMatch(/: 500|Internal/);
    }
  };
  const ending = result!["tools"].filter(
    ({ name }: any) => !ENDLESS.has(name) && !name.startsWith("hoard-"),
  );
  await Promise.all(ending.map(twice));
}, 60_000);

/** Tools that wait for long; those of the hoarder fill their memory with megabytes. */
const ENDLESS = new Set(["hide_sleep", "doze", "stuck"]);

describe("instances", () => {
  test("wait for another call, however the last one ended", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const idle = () => idleInstances(servlet("leaver"));
    await callTool("seek");
    const before = idle();
    expect(before).toBeGreaterThan(0);
    for (const name of ["hide_trap", "hide_grow", "hide_throw", "hide_refuse"]) {
      await callTool(name);
      expect(idle()).toBe(before);
    }
  });

  test("are each in one call at a time, and no more wait than may", async () => {
    const names = Array.from({ length: 1000 }, (_, at) => `caller ${at}`);
    const said = await Promise.all(names.map((name) => textOf("greet", { name })));
    expect(said).toEqual(names.map((name) => `Hello, ${name}!`));
    const slept = Array.from({ length: 20 }, () => textOf("wait", { seconds: 0.05 }));
    await Promise.all(slept);
    for (const one of bundle.servlets) {
      expect(idleInstances(one)).toBeLessThanOrEqual(limits.idleInstances);
    }
  });

  test("are made anew for each call where that is wanted", async () => {
    const fresh = createApp(new Kernel(bundle, { ...settings, ISOLATION: "fresh" }));
    const before = idleInstances(servlet("startup"));
    const { body, headers } = modern("tools/call", { name: "order" });
    const response = await post(body, headers, fresh);
    expect(response.status).toBe(200);
    expect(idleInstances(servlet("startup"))).toBe(before);
  });
});

/** The keys' SHA-256 by their name, which is the key itself. */
async function hashesOf(keys: string[]): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const key of keys) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
    hashes[key] = new Uint8Array(digest).toHex();
  }
  return hashes;
}

describe("random sequences of calls", () => {
  const tools = [
    "remember",
    "echo_input",
    "order",
    "seek",
    "hide",
    "hide_grow",
    "trap",
    "refuse",
    "million_blocks",
  ];

  /** https://en.wikipedia.org/wiki/Xorshift */
  function numbers(seed: number): () => number {
    let state = seed;
    return () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return state >>> 0;
    };
  }

  test.each([1, 2, 3])(
    "give with restored instances what they give with new ones (%i)",
    async (seed) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      vi.spyOn(console, "warn").mockImplementation(() => {});
      const keyed = {
        ...settings,
        API_KEYS: JSON.stringify(await hashesOf(["ada", "bob", "eve"])),
      };
      const next = numbers(seed * 7919);
      const picked = Array.from({ length: 60 }, () => ({
        name: tools[next() % tools.length]!,
        key: ["ada", "bob", "eve"][next() % 3]!,
      }));
      const outcomes = async (isolation: string) => {
        const server = createApp(new Kernel(bundle, { ...keyed, ISOLATION: isolation }));
        const found: string[] = [];
        for (const { name, key } of picked) {
          const { body, headers } = modern("tools/call", { name });
          const request = { ...headers, authorization: `Bearer ${key}` };
          found.push(await (await post(body, request, server)).text());
        }
        return found;
      };
      expect(await outcomes("checked")).toEqual(await outcomes("fresh"));
    },
  );
});
