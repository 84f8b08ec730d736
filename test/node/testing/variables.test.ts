import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadServlet } from "../../../src/tools/testing/index.ts";

/** A test whose servlet needs a variable that its script does not have. */

const HOW =
  /which its env_vars name, is not set\. Give it in the script of the test: .*variables: \{ NAME: "value" \}/;

test("an error about a missing variable says how a test sets it", async () => {
  const folder = await mkdtemp(".bundle/variables-");
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const name of ["servlet.ts", "statuses.ts"])
    await copyFile(join("plugins/http-status", name), join(folder, name));
  await writeFile(join(folder, "servlet.json"), '{"env_vars": {"tone": "${TONE}"}}');
  const servlet = await loadServlet(folder);
  const called = servlet.callTool("lookup_status", { code: 404 });
  await expect(called).rejects.toThrow(HOW);
  await expect(called).rejects.not.toThrow("Worker");
  const { result } = await servlet.callTool(
    "lookup_status",
    { code: 404 },
    { variables: { TONE: "a" } },
  );
  expect(JSON.stringify(result)).toContain("Not Found");
});

test("an error about a missing variable of a servlet with dynamic lists says how a test sets it", async () => {
  const servlet = await loadServlet("test/guests/seasonal");
  await expect(servlet.callTool("seasonal")).rejects.toThrow(HOW);
});
