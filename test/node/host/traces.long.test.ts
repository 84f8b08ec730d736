import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { CONFIG } from "../../../src/tools/host/storage.ts";
import { otelSettingNames } from "../../../src/server/kernel/observe/otel-settings.ts";
import { collecting } from "../http/collector.ts";
import { built, Operator } from "../http/installing.ts";
import { build, host, project, request, run } from "./hosting.ts";

/** Traces of a server as its user starts it. */
const collector = await collecting();
afterAll(() => collector.close());
const folder = await project();
await build(folder);

const LOOKER = `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: { look: {
  description: "Looks.",
  input: { type: "object", properties: { url: { type: "string" } } },
  handler: async (args) => (await fetch(String(args["url"]))).text(),
} } });`;

describe("start", () => {
  test("sends traces to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names", async () => {
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=collectors-key",
    };
    // Servlets may not reach this machine; the exporter may.
    const server = await host(folder, { variables });
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
    const params = { name: "greet", arguments: { name: "Ada" } };
    await (await request(server.url, "tools/call", params, { traceparent })).text();
    await collector.spansOf(traceId, "POST /mcp", "tools/call greet", "run hello");
    const first = collector.requests.find(({ text }) => text.includes(traceId));
    expect(first!.headers["x-api-key"]).toBe("collectors-key");
    expect(await server.stop()).toBe(0);
    // Keys are in no file, and in no log.
    const config = await readFile(join(folder, ".edge-servlets", CONFIG), "utf8");
    expect(config).toContain("exporter");
    expect(server.output() + config).not.toContain("collectors-key");
  });

  test("keeps serving if the collector is unreachable", async () => {
    const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
    const server = await host(folder, { variables });
    const params = { name: "greet", arguments: { name: "Ada" } };
    const response = await request(server.url, "tools/call", params);
    expect(await response.text()).toContain("Hello, Ada!");
    await server.end();
  });

  test("sends those of installed servlets, whose requests go through the server", async () => {
    const seen: (string | undefined)[] = [];
    const world = createServer(({ headers }, response) => {
      seen.push(headers["traceparent"] as string | undefined);
      response.end("hello");
    });
    await new Promise<void>((resolve) => world.listen(0, "127.0.0.1", resolve));
    const { port } = world.address() as AddressInfo;
    const hash = createHash("sha256").update("boss").digest("hex");
    const API_KEYS = JSON.stringify({ boss: { hash, scopes: ["operator", "*:*"] } });
    const variables = {
      API_KEYS,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      TEST_LIMITS: '{"installsMs":100,"installsStaleMs":400}',
    };
    const server = await host(folder, {
      args: ["--private-network", "--from-env", "TEST_LIMITS"],
      variables,
    });
    const key = { authorization: "Bearer boss" };
    await new Operator(server.url, key).put(
      await built("looker", LOOKER, { allowed_hosts: ["127.0.0.1"] }),
    );
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const headers = { ...key, traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    const params = { name: "look", arguments: { url: `http://127.0.0.1:${port}/` } };
    const look = (sent: Record<string, string>) =>
      request(server.url, "tools/call", params, sent).then((response) => response.text());
    // The server hears of it after a moment.
    await expect.poll(() => look(key), { timeout: 30_000 }).toContain("hello");
    expect(await look(headers)).toContain("hello");
    const spans = await collector.spansOf(traceId, "GET", "run looker");
    const sent = spans.find(({ name }) => name === "GET")!;
    expect(seen.at(-1)).toBe(`00-${traceId}-${sent.spanId}-01`);
    await server.end();
    world.closeAllConnections();
    world.close();
  });

  test("says which variable is not valid", async () => {
    const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317" };
    const { ended, output } = run(folder, {
      args: ["--worker", "built", "--port", "0"],
      variables,
    });
    expect(await ended).toBe(1);
    expect(output()).toContain(
      "The setting OTEL_EXPORTER_OTLP_ENDPOINT is not valid: must be an http or https URL.",
    );
  });
});

test("the document names each variable that is read", async () => {
  const text = await readFile("docs/watching.md", "utf8");
  for (const name of otelSettingNames()) expect(text).toContain(`\`${name}\``);
});
