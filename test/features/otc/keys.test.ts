import { SignJWT } from "jose";
import { env } from "cloudflare:workers";
import { expect, onTestFinished, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { keyRecordsOf } from "../../../src/server/kernel/auth/key-records.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { hexDigest } from "../../../src/server/kernel/core/digest.ts";
import { eventually } from "../../worker/waiting.ts";
import { isAboutRefusals, modern, post } from "../../worker/server.ts";
import { bundle, serverOf } from "../../worker/auth/key-holders.ts";

/** Access by API keys and by tokens. */

test("scopes that are missing are named", async () => {
  const server = await serverOf({ bob: { scopes: ["reader"] } });
  const call = (tool_id: string) =>
    server.fetch(
      new Request("http://localhost:8787/tools/call", {
        method: "POST",
        headers: { "content-type": "application/json", "otc-api-key": "bob" },
        body: JSON.stringify({ request: { tool_id, input: { name: "Ada" } } }),
      }),
    );
  const refused = await call("hello.greet");
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({
    message: "The token lacks the scope greeter. Request a token with it.",
  });
  expect((await call("hello.nothing")).status).toBe(400);
});

const { keyCheckMs } = limits;

test("a key that is revoked is refused, and valid again once it is restored", async () => {
  const server = await serverOf({ "lost-tools": {} });
  const status = async () => {
    const headers = { authorization: "Bearer lost-tools" };
    return (await server.fetch(new Request("http://localhost:8787/tools", { headers }))).status;
  };
  onTestFinished(() => configureLimits({ keyCheckMs }));
  configureLimits({ keyCheckMs: 0 });
  const records = keyRecordsOf(env)!();
  expect(await status()).toBe(200);
  await records.revoke(await hexDigest("lost-tools"), "boss");
  await eventually(async () => expect(await status()).toBe(401));
  await records.restore(await hexDigest("lost-tools"));
  await eventually(async () => expect(await status()).toBe(200));
});

/** ESC, NEL, VT, C1's CSI, a bidirectional override, an isolate, a zero-width space, a soft hyphen. */
const UNPRINTABLE = "\u001b[2J\u0085\v\u009b1m\u202e\u2066\u200b\u00ad";
const CONTROLS = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

test("no character in the log is obeyed instead of shown", async () => {
  const lines: string[] = [];
  for (const level of ["log", "info", "warn", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((line: unknown) => void lines.push(String(line)));
  }
  const isOwn = (line: string) => !isAboutRefusals(line);
  const step = { do: "log", message: `begin${UNPRINTABLE}end` };
  const { body, headers } = modern("tools/call", { name: "plan", arguments: { steps: [step] } });
  const principal = { sub: `eve${UNPRINTABLE}`, exp: Date.now() / 1000 + 60 };
  for (const RUN_LOG of ["json", "text"]) {
    const secret = "x".repeat(32);
    const server = createApp(new Kernel(bundle, { ...env, RUN_LOG, OTC_JWT_SECRET: secret }));
    await post(body, headers, server);
    const jwt = await new SignJWT(principal)
      .setProtectedHeader({ alg: "HS256" })
      .sign(new TextEncoder().encode(secret));
    const called = await server.fetch(
      new Request("http://localhost:8787/tools/call", {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${jwt}` },
        body: JSON.stringify({ request: { tool_id: "clock.now" } }),
      }),
    );
    expect(called.status).toBe(200);
  }
  vi.restoreAllMocks();
  expect(lines.filter((line) => isOwn(line) && line.includes("eve"))).toHaveLength(2);
  expect(lines.filter((line) => isOwn(line) && line.includes("begin"))).toHaveLength(2);
  expect(lines.filter((line) => CONTROLS.test(line))).toEqual([]);
  const records = lines.filter((line) => line.startsWith("{"));
  expect(records.map((line) => JSON.parse(line).principal)).toContain(`jwt:eve${UNPRINTABLE}`);
});
