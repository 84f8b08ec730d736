import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { hashed } from "../../worker/auth/key-holders.ts";
import { profiled } from "../../worker/profiles.ts";
import { bundle } from "../../bundle.gen.ts";

test.each(["null", "chrome-extension://abcdefghijklmnopabcdefghijklmnop", "https://app.example"])(
  "a page or app that may call does not operate the server: %s",
  async (origin) => {
    const server = createApp(new Kernel(bundle, { ...env, ALLOWED_ORIGINS: origin }));
    const headers = { origin, "content-type": "application/json", accept: "application/json" };
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const send = (path: string) =>
      server.fetch(new Request(`http://localhost:8787${path}`, { method: "POST", headers, body }));
    expect((await send("/mcp")).status).toBe(200);
    expect((await send("/operator/servlets")).status).toBe(403);
  },
);

test("a key that is bound to a profile operates nothing", async () => {
  const { key } = JSON.parse(await hashed(["key"])) as { key: string };
  const API_KEYS = JSON.stringify({ key: { hash: key, scopes: ["profile:support"] } });
  const headers = { authorization: "Bearer key" };
  const { status } = await profiled({ API_KEYS }).fetch(
    new Request("http://localhost:8787/operator/state", { headers }),
  );
  expect(status).toBe(403);
});
