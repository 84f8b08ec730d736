/// <reference types="@cloudflare/vitest-plugin/types" />
// @module-tag state
import { env } from "cloudflare:workers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";
import { configureLimits } from "../../../src/server/kernel/core/limits.ts";
import { bundle } from "../../bundle.gen.ts";
import { send, server } from "../../worker/calls/client.ts";
import {
  exported,
  imported,
  LOCAL,
  LOCALHOST,
  newCaller,
  operate,
} from "../../worker/operator/client.ts";

/** Who may ask what of the operators' door. */

describe("the door", () => {
  const withKeys = async (keys: Record<string, object>, variables: object = {}) => {
    const entries = Object.entries(keys).map(async ([name, key]) => {
      const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(name));
      return [name, { hash: new Uint8Array(digest).toHex(), ...key }] as const;
    });
    const API_KEYS = JSON.stringify(Object.fromEntries(await Promise.all(entries)));
    return createApp(new Kernel(bundle, { ...env, API_KEYS, ...variables }));
  };
  const bearer = (name: string) => ({ headers: { authorization: `Bearer ${name}` } });

  test("is closed to all but keys with the scope operator", async () => {
    const app = await withKeys({
      op: { scopes: ["operator"] },
      all: {},
      star: { scopes: ["*:*"] },
    });
    const status = async (init: RequestInit) => (await operate("state/counting", init, app)).status;
    expect(await status(bearer("op"))).toBe(200);
    expect(await status(bearer("all"))).toBe(403);
    expect(await status(bearer("star"))).toBe(403);
    expect(await status(bearer("eve"))).toBe(401);
    expect(await status({})).toBe(401);
    const refusal = await operate("state/counting", bearer("all"), app);
    expect(refusal.headers.get("www-authenticate")).toContain('scope="operator"');
    expect(await refusal.text()).toContain("--scopes operator");
  });

  test("says to operators which bindings are missing, and the public URL", async () => {
    const keys = { op: { scopes: ["operator"] }, all: {} };
    const settings = { USAGE: undefined, PUBLIC_URL: "https://tools.example.com" };
    const app = await withKeys(keys, settings);
    expect((await operate("setup", bearer("all"), app)).status).toBe(403);
    expect(await (await operate("setup", bearer("op"), app)).json()).toMatchObject({
      publicUrl: "https://tools.example.com",
      lacking: expect.arrayContaining([
        { bindings: ["USAGE"], off: "counters, errors and the audit log" },
      ]),
    });
  });

  test("notes who has changed what", { tags: ["usage"] }, async () => {
    const app = await withKeys({ "op-noted": { scopes: ["operator"] } });
    const scope = "caller:somebody";
    const path = `state/counting?scope=${scope}`;
    expect((await operate(path, { method: "DELETE", ...bearer("op-noted") }, app)).status).toBe(
      200,
    );
    await operate(path, bearer("op-noted"), app);
    const acts = await env.USAGE!.getByName("usage").acts();
    expect(acts.filter(({ by }) => by === "op-noted")).toEqual([
      expect.objectContaining({
        how: "command",
        what: "Deleted the state of counting for caller:somebody.",
      }),
    ]);
  });

  test("does not let an operator's key use the tools of servlets", async () => {
    const app = await withKeys({ op: { scopes: ["operator"] } });
    const { result } = await send("tools/list", {}, { server: app, ...bearer("op") });
    expect(result!["tools"]).toEqual([]);
  });

  test("is open without authentication on this machine only", async () => {
    const from = async (
      headers: Record<string, string>,
      init: object = { cf: {} },
      url = LOCALHOST,
    ) =>
      (await server.fetch(new Request(`${url}/operator/state/counting`, { headers, ...init })))
        .status;
    expect(await from(LOCAL)).toBe(200);
    expect(await from({ "cf-connecting-ip": "203.0.113.9" })).toBe(403);
    expect(await from(LOCAL, { cf: {} }, "https://example.com")).toBe(403);
    // Nobody but the client has written these.
    expect(await from({})).toBe(403);
    expect(await from(LOCAL, {})).toBe(403);
  });

  test("knows this machine only where dev says that it listens on loopback", async () => {
    const status = async (more: object, headers = {}, url = LOCALHOST) => {
      const init = { headers: { ...LOCAL, ...headers }, cf: {} };
      const app = createApp(new Kernel(bundle, { ...env, ...more }));
      return (await app.fetch(new Request(`${url}/operator/state/counting`, init))).status;
    };
    expect(await status({})).toBe(200);
    expect(await status({ PUBLIC_URL: "https://mcp.example.com" })).toBe(200);
    expect(await status({}, { "cf-connecting-ip": "::1" }, "http://[::1]:8787")).toBe(200);
    for (const runs of [undefined, "", "on-network", "self-hosted", "ON-LOOPBACK", "on-loopback "])
      expect(await status({ [RUNS]: runs })).toBe(403);
    // A tunnel or a proxy has passed these on.
    for (const name of ["x-forwarded-for", "x-forwarded-host", "forwarded", "via"])
      expect(await status({}, { [name]: "127.0.0.1" })).toBe(403);
    expect(await status({ ALLOWED_HOSTS: "box.local" }, {}, "http://box.local")).toBe(403);
    const refused = await createApp(new Kernel(bundle, { ...env, [RUNS]: "on-network" })).fetch(
      new Request(`${LOCALHOST}/operator/state/counting`, {
        headers: LOCAL,
        cf: {},
      } as RequestInit),
    );
    expect(await refused.text()).toMatch(/loopback.*Make a key: npm run keys/);
  });

  test("is closed to web pages", async () => {
    const app = createApp(new Kernel(bundle, { ...env, ALLOWED_ORIGINS: "https://ally.example" }));
    const status = async (origin: string) =>
      (await operate("state/counting", { headers: { origin } }, app)).status;
    expect(await status("https://evil.example")).toBe(403);
    expect(await status("https://ally.example")).toBe(403);
    expect(await status("http://localhost:3000")).toBe(403);
    expect(await status(LOCALHOST)).toBe(200);
  });

  test.each([
    ["GET", "state/nothing", 404],
    ["GET", "state/hello", 400],
    ["GET", "state", 404],
    ["GET", "install/hello", 404],
    ["GET", "state/counting/more", 404],
    ["GET", "state/counting?scope=server", 400],
    ["GET", "state/counting?scope=session:a", 400],
    ["GET", "state/counting?scope=caller:", 400],
    ["GET", "state/counting?scope=", 400],
    ["GET", "state/%E0%A4%A", 404],
    ["POST", "state/counting", 405],
    ["DELETE", "state-file/counting", 405],
    ["PUT", "state/counting", 400],
    ["DELETE", "state", 404],
  ])("%s %s is answered by %d", async (method, path, status) => {
    const response = await operate(path, { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: expect.any(String) });
  });

  test("counts calls as the other doors do", async () => {
    const keys = { op: { scopes: ["operator"] } };
    const app = await withKeys(keys, { LIMITS: '{"callsPerMinute":2}' });
    onTestFinished(() => configureLimits({ callsPerMinute: 0 }));
    const statuses: number[] = [];
    for (let nth = 0; nth < 4; nth++) {
      statuses.push((await operate("state/counting", bearer("op"), app)).status);
    }
    expect(statuses).toEqual([200, 200, 429, 429]);
  });

  test("says nothing of contents in the log", async () => {
    const lines: unknown[] = [];
    for (const level of ["log", "info", "warn", "error"] as const) {
      vi.spyOn(console, level).mockImplementation((...line) => void lines.push(...line));
    }
    const caller = newCaller();
    await caller.file("write", { path: "/data/a-secret-name", text: "a-secret-text" });
    const file = await exported("filing", caller.scope);
    await imported("filing", caller.scope, file.slice(0, -1));
    await imported("filing", caller.scope, file);
    vi.restoreAllMocks();
    expect(lines.join("\n")).not.toMatch(/a-secret/);
  });
});
