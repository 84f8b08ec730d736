import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { limits } from "../../../src/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { idleInstances } from "../../../src/wasm/pool.ts";
import { app, callTool, modern, post, settings, textOf } from "../server.ts";

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

describe("instances", () => {
  test("that ended well wait for another call; others are dropped", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const idle = () => idleInstances(servlet("leaver"));
    await callTool("seek");
    expect(idle()).toBeGreaterThan(0);
    for (const name of ["hide_trap", "hide_grow", "hide_throw"]) {
      while (idle() > 0) await callTool("hide_trap");
      await callTool(name);
      expect(idle()).toBe(0);
    }
    await callTool("hide_refuse");
    expect(idle()).toBe(1);
  });

  test("are each in one call at a time, and no more wait than may", async () => {
    const names = Array.from({ length: 1000 }, (_, at) => `caller ${at}`);
    const said = await Promise.all(names.map((name) => textOf("greet", { name })));
    expect(said).toEqual(names.map((name) => `Hello, ${name}!`));
    const slept = Array.from({ length: 40 }, () => textOf("wait", { seconds: 0.05 }));
    await Promise.all(slept);
    for (const one of bundle.servlets) {
      expect(idleInstances(one)).toBeLessThanOrEqual(limits.idleInstances);
    }
  });

  test("are made anew for each call where that is wanted", async () => {
    const fresh = createApp(bundle, { ...settings, ISOLATION: "fresh" });
    const before = idleInstances(servlet("startup"));
    const { body, headers } = modern("tools/call", { name: "order" });
    const response = await post(body, headers, fresh);
    expect(response.status).toBe(200);
    expect(idleInstances(servlet("startup"))).toBe(before);
  });
});

describe("random sequences of calls", () => {
  const tools = [
    "remember",
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
      const fresh = createApp(bundle, { ...settings, ISOLATION: "fresh" });
      const next = numbers(seed * 7919);
      const picked = Array.from({ length: 60 }, () => tools[next() % tools.length]!);
      const outcomes = async (server: typeof app) => {
        const found: string[] = [];
        for (const name of picked) {
          const { body, headers } = modern("tools/call", { name });
          found.push(await (await post(body, headers, server)).text());
        }
        return found;
      };
      expect(await outcomes(app)).toEqual(await outcomes(fresh));
    },
  );
});
