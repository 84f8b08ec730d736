import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

test("npm run outdated says what it cannot compare without a network, and fails", async () => {
  const folder = await mkdtemp(join(tmpdir(), "outdated-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const npm = "#!/bin/sh\necho 'npm error code ENOTFOUND' >&2\nexit 1\n";
  await writeFile(join(folder, "npm"), npm, { mode: 0o755 });
  // Node's permissions do not include the network.
  const { status, stdout } = spawnSync(
    process.execPath,
    ["--permission", "--allow-fs-read=*", "--allow-child-process", "test/node/outdated.ts"],
    {
      encoding: "utf8",
      env: { ...process.env, PATH: `${folder}${delimiter}${process.env["PATH"]}` },
    },
  );
  expect(status).toBe(1);
  expect(stdout).toContain("Dependencies are not compared, as npm's registry cannot be read: ");
  expect(stdout).toContain("They are not compared, as Debian or PyPI cannot be read: ");
});
