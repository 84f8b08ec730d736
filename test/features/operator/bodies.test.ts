import { env } from "cloudflare:workers";
import { afterEach, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { fetchOf, greeting, other, sentUnread } from "../../worker/auth/sent-bodies.ts";

const usual = { ...limits };
afterEach(() => configureLimits(usual));

test(
  "a part that an operator sends passes through, and does not count",
  { tags: ["installs"] },
  async () => {
    const key = crypto.randomUUID();
    const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
    const server = createApp(
      new Kernel(bundle, {
        ...env,
        API_KEYS: JSON.stringify({
          [key]: { hash: new Uint8Array(hash).toHex(), scopes: ["operator"] },
        }),
        LIMITS: '{"bodiesBytes":200}',
        LOADER: env.TEST_LOADER,
      }),
    );
    const end = await other(server);
    const part = new TextEncoder().encode("part".repeat(10_000));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", part)).toHex();
    const headers = { authorization: `Bearer ${key}`, "content-length": `${part.length}` };
    const path = `/operator/part/${digest}`;
    const send = (length: string) =>
      fetchOf(server, {
        body: part,
        headers: { ...headers, "content-length": length },
        method: "PUT",
        path,
      });
    expect((await send(`${part.length}`)).status).toBe(204);
    for (const length of ["x", "-1", "1e3"]) expect((await send(length)).status).toBe(400);
    expect((await fetchOf(server, greeting(key, 6000))).status).toBe(503);
    await end();
  },
);

test("nothing is read of a body without a key", async () => {
  expect(await sentUnread("/operator/servlet/hello", "PUT")).toEqual({ status: 401, read: 0 });
});
