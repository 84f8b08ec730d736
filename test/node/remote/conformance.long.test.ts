/** The client of `edge-servlets/remote` against the client scenarios of the official conformance suite. */
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const packageFile = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/conformance/package.json",
);
const SUITE = join(packageFile, "../dist/index.js");
const CLIENT = join(import.meta.dirname, "conformance-client.ts");

/** All but those of sign-in and skills, and one whose server asks on the session's own stream, which Node's side does not open. */
test.each([
  ["initialize", "2025-11-25"],
  ["tools_call", "2025-06-18"],
  ["tools_call", "2025-11-25"],
  ["tools_call", "2026-07-28"],
  ["sse-retry", "2025-11-25"],
  ["request-metadata", "2026-07-28"],
  ["sep-2322-client-request-state", "2026-07-28"],
  ["http-standard-headers", "2026-07-28"],
  ["http-custom-headers", "2026-07-28"],
  ["http-invalid-tool-headers", "2026-07-28"],
  ["json-schema-ref-no-deref", "2026-07-28"],
  ["json-schema-2020-12-preservation", "2026-07-28"],
])(
  "passes %s of %s",
  async (scenario, revision) => {
    const command = `${process.execPath} ${CLIENT}`;
    const args = [
      "client",
      "--command",
      command,
      "--scenario",
      scenario,
      "--spec-version",
      revision,
    ];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [SUITE, ...args]).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    expect(stdout + stderr).toMatch(/0 failed, 0 warnings/);
  },
  60_000,
);
