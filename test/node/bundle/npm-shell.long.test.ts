import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

/** What becomes of a process that npm runs as a script, when npm is told to end. */

const MODULE = resolve("src/tools/bundle/npm-shell.ts");

/** Runs a script by `npm start`, as a process that says its id and then what it is told. */
async function started(last: string) {
  const folder = await mkdtemp(join(tmpdir(), "npm-shell-"));
  const script = `import { endWithShellOfNpm, outliveShellOfNpm } from ${JSON.stringify(MODULE)};
endWithShellOfNpm();
process.on("SIGTERM", () => { console.log("SIGTERM"); process.exit(); });
process.on("SIGINT", () => { console.log("SIGINT"); ${last} });
console.log("process " + process.pid);
setInterval(() => {}, 1000);`;
  await writeFile(join(folder, "script.ts"), script);
  // The shell that npm starts has more to do after it, so that it cannot be replaced by the script.
  const start = `${JSON.stringify(process.execPath)} script.ts; echo over`;
  await writeFile(
    join(folder, "package.json"),
    JSON.stringify({ type: "module", scripts: { start } }),
  );
  const npm = spawn("npm", ["start"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  npm.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const closed = once(npm, "close");
  await expect.poll(() => printed, { timeout: 30_000 }).toMatch(/process \d+/);
  const pid = Number(/process (\d+)/.exec(printed)![1]);
  return { npm, pid, closed, printed: () => printed };
}

test("a process gets SIGTERM when npm is stopped, although npm's shell does not forward the signal", async () => {
  const { npm, closed, printed } = await started("");
  npm.kill("SIGTERM");
  // Its output is closed by the last of them.
  await closed;
  expect(printed()).toContain("SIGTERM");
});

test("a process that is ending gets no second signal", async () => {
  const { npm, pid, closed, printed } = await started(
    "outliveShellOfNpm(); setTimeout(() => { console.log('done'); process.exit(); }, 1000);",
  );
  process.kill(pid, "SIGINT");
  await expect.poll(printed).toContain("SIGINT");
  npm.kill("SIGTERM");
  await closed;
  expect(printed()).toMatch(/SIGINT\ndone/);
  expect(printed()).not.toContain("SIGTERM");
});
