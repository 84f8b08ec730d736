import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../worker/auth/key-holders.ts";

/** What the start page says of who may call. */

describe("the page", () => {
  const pageOf = async (settings: object, address = "https://tools.example/") =>
    await createApp(new Kernel(bundle, { ...env, ...settings })).fetch(new Request(address));

  test("says to people that the server is open, unless that is on purpose or at home", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    expect(await (await pageOf({})).text()).toContain("requires no authentication");
    expect(warn.mock.calls.join()).toContain("requires no authentication");
    expect(await (await pageOf({ AUTH: "none" })).text()).not.toContain(
      "requires no authentication",
    );
    expect(await (await pageOf({}, "http://localhost:8787/")).text()).not.toContain(
      "requires no authentication",
    );
    const ofKeys = await (await pageOf({ API_KEYS: "{}" })).text();
    expect(ofKeys).not.toContain("requires no authentication");
    expect(ofKeys).toContain("Replace\n    <code>YOUR-KEY</code> with your API key");
    warn.mockRestore();
  });

  test("loads nothing, runs nothing, and is framed by nobody", async () => {
    const { headers } = await pageOf({ AUTH: "none" });
    expect(headers.get("content-security-policy")).toMatch(
      /default-src 'none'.*frame-ancestors 'none'/,
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("same-origin");
  });
});
