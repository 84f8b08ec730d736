/// <reference types="@cloudflare/vitest-plugin/types" />
// @module-tag usage
import { env } from "cloudflare:workers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { Fault } from "../../../src/server/kernel/core/errors.ts";
import { RefusedRequests } from "../../../src/server/kernel/observe/refusals.ts";
import { bundle } from "../../bundle.gen.ts";
import { hashed, send } from "../../worker/auth/key-holders.ts";
import { LOCAL, LOCALHOST } from "../../worker/operator/client.ts";
import { browser } from "../../worker/pages/browser.ts";
import { eventually } from "../../worker/waiting.ts";

describe("the page", () => {
  const keys = async () => {
    const all = JSON.parse(await hashed(["counted", "loud", "boss"])) as Record<string, string>;
    return JSON.stringify({ ...all, boss: { hash: all["boss"], scopes: ["operator"] } });
  };

  test("shows how many requests were refused and why, and a line of the log names the callers", async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { toolCallsPerMinute } = limits;
    onTestFinished(() => configureLimits({ toolCallsPerMinute }));
    configureLimits({ toolCallsPerMinute: 2 });
    const server = createApp(new Kernel(bundle, { ...env, API_KEYS: await keys() }));
    const greet = { name: "greet", arguments: { name: "Ada" } };
    const statuses: number[] = [];
    for (let nth = 0; nth < 4; nth++)
      statuses.push((await send(server, "loud", "tools/call", greet)).status);
    statuses.push((await send(server, "nobody", "tools/call", greet)).status);
    expect(statuses).toEqual([200, 200, 429, 429, 401]);
    const boss = browser(server);
    await eventually(async () => {
      await boss.send("/sign-in?back=/console/usage", { credential: "boss" });
      const { text } = await boss.fetch("/console/usage?over=hour&by=caller");
      expect(text).toMatch(
        /Refused requests[^]*429 too_many \d+[^]*401 unauthorized \d+|Refused requests[^]*401 unauthorized \d+[^]*429 too_many \d+/,
      );
    });
    // The page may show what other files' tests were refused.
    await eventually(async () => {
      const lines = warn.mock.calls.map(([line]) => String(line));
      expect(lines.find((one) => one.startsWith("Refused"))).toMatch(
        /^Refused in the last [\d.]+ s: .*429 too_many of loud \(2\).*401 unauthorized \(1\)/,
      );
    });
  });

  test("logs a bounded part of the names of callers whose requests are refused", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const refusals = new RefusedRequests();
    const name = "x".repeat(100_000);
    for (let nth = 0; nth < 30; nth++) refusals.add(new Fault("too_many", ""), `${nth} ${name}`);
    await eventually(() => expect(warn).toHaveBeenCalledOnce());
    expect(String(warn.mock.calls[0]).length).toBeLessThan(10_000);
  });

  test("shows operators what callers called, seconds later", async () => {
    const server = createApp(new Kernel(bundle, { ...env, API_KEYS: await keys() }));
    const greet = { name: "greet", arguments: { name: "Ada" } };
    expect((await send(server, "counted", "tools/call", greet)).status).toBe(200);
    const boss = browser(server);
    await eventually(async () => {
      await boss.send("/sign-in?back=/console/usage", { credential: "boss" });
      const { text } = await boss.fetch("/console/usage?over=hour&by=caller");
      expect(text).toMatch(/counted 1 [\d.]+ ms [\d.]+ ms (below|about) \d+ ms/);
    });
    const { text, html } = await boss.fetch("/console/usage?over=day&by=tool");
    expect(text).toMatch(/greet \d/);
    expect(html).toContain("<svg");
    expect(html).toMatch(/<title>\d+ \w{3}, \d\d:00: [1-9][\d,]* runs?, [\d,]+ errors?<\/title/);
    expect((await boss.fetch("/console/usage?over=<script>&by='")).status).toBe(200);
  });

  test("is for operators alone, and leads others to the sign-in", async () => {
    const server = createApp(new Kernel(bundle, { ...env, API_KEYS: await keys() }));
    const one = browser(server);
    const page = await one.fetch("/console/usage");
    expect(page.status).toBe(303);
    expect(page.response.headers.get("location")).toBe("/sign-in?back=%2Fconsole%2Fusage");
    await one.send("/sign-in?back=/console/usage", { credential: "counted" });
    const refused = await one.fetch("/console/usage");
    expect(refused.status).toBe(403);
    expect(refused.text).toContain("This page is for operators");
    expect(refused.html).not.toContain("<svg");
    const open = createApp(new Kernel(bundle, { ...env, AUTH: "none" }));
    expect((await browser(open).fetch("/console/usage")).status).toBe(403);
  });

  test("is not for other programs' web pages on this machine", async () => {
    const open = createApp(new Kernel(bundle, env));
    const page = (headers: Record<string, string>) =>
      open.fetch(
        new Request(`${LOCALHOST}/console/usage`, {
          headers: { ...LOCAL, ...headers },
          cf: {},
        } as RequestInit),
      );
    expect((await page({})).status).toBe(200);
    expect((await page({ origin: LOCALHOST })).status).toBe(200);
    expect((await page({ origin: "http://localhost:3000" })).status).toBe(403);
  });

  test("says what to bind where nothing is counted", async () => {
    const server = createApp(
      new Kernel(bundle, { ...env, USAGE: undefined, API_KEYS: await keys() }),
    );
    const boss = browser(server);
    await boss.send("/sign-in?back=/console/usage", { credential: "boss" });
    expect((await boss.fetch("/console/usage")).text).toContain("bind the Durable Object USAGE");
  });
});
