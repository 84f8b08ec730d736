import { describe, expect, test } from "vitest";
import { viewEndpoint } from "../../../src/server/features/people/framed-view.ts";
import type { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { manifestSchema } from "../../../src/server/kernel/servlets/manifest.ts";

const directives = ({ headers }: Response) =>
  Object.fromEntries(
    headers
      .get("content-security-policy")!
      .split("; ")
      .map((one) => [one.split(" ")[0]!, one.split(" ").slice(1).join(" ")]),
  );

/** What would be another source, another directive or another header, if it stood in a policy. */
const NO_ORIGINS = [
  "*",
  "'self'",
  "'unsafe-eval'",
  "data:",
  "blob:",
  "https:",
  "https://*",
  "https://*.*",
  "",
  "https://a.example; script-src *",
  "https://a.example ;sandbox",
  "https://a.example *",
  "https://a.example\n*",
  "https://a.example\n",
  "\nhttps://a.example",
  "https://a.example\r\nx: y",
  "https://a.example,",
  "https://a.example, script-src *",
  "https://a.example\t*",
  "https://a.example/path",
  "https://user@a.example",
  "https://a.example:*",
  "javascript://a",
  "https://ä.example",
  "https://a.example\u00a0*",
  "https://[::1]",
  "HTTPS://a.example",
];

describe("an origin that is none", () => {
  test.each(NO_ORIGINS)("is refused in a manifest: %j", (origin) => {
    for (const key of ["connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"])
      expect(
        manifestSchema().safeParse({ views: { a: { file: "a.html", csp: { [key]: [origin] } } } })
          .error?.message,
      ).toContain("must be an origin");
  });

  test("is left out where a servlet makes its view itself", async () => {
    const origins = [...NO_ORIGINS, 7, null, ["https://a.example *"], "https://a.example"];
    const csp = { connectDomains: origins, resourceDomains: "*", frameDomains: origins };
    const permissions = { camera: {}, geolocation: "*", usb: {}, "microphone=*, a": {} };
    const _meta = { ui: { csp, permissions } };
    const mimeType = "text/html;profile=mcp-app";
    const contents = [{ uri: "ui://a/b", mimeType, blob: btoa("<!doctype html>"), _meta }];
    const registry = { resolve: async () => ({ run: async () => ({ contents }) }) };
    const response = await viewEndpoint(
      new Request("http://localhost/console/view?uri=ui://a/b"),
      async () => ({ registry: registry as never as Registry, principal: { name: "anonymous" } }),
    );
    expect(await response.text()).toBe("<!doctype html>");
    expect(directives(response)).toMatchObject({
      "connect-src": "https://a.example",
      "frame-src": "https://a.example",
      "script-src": "'unsafe-inline'",
      "base-uri": "'none'",
    });
    expect(response.headers.get("permissions-policy")).toBe(
      "microphone=(), geolocation=(), clipboard-write=()",
    );
  });
});
