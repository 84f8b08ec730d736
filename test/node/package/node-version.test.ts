import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

/** Runs a script by a Node that says that it is of this version. */
const runBy = (version: string, script: string, ...args: string[]) => {
  const fake = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`;
  const url = `data:text/javascript,${encodeURIComponent(fake)}`;
  return run(process.execPath, ["--import", url, script, ...args]);
};

const CHECK = "package/bin/demand-node.js";

test.each(["18.20.8", "20.9.0", "21.7.3", "22.11.0"])(
  "an install in the repository says that %s is too old, and goes on",
  async (version) => {
    const { stderr } = await runBy(version, CHECK);
    expect(stderr).toBe(
      `edge-servlets needs Node 22.12 or newer, and this is ${version}. Install one from https://nodejs.org.\n`,
    );
  },
);

test.each(["22.12.0", "23.0.0", "24.11.1"])("%s is new enough", async (version) => {
  expect((await runBy(version, CHECK)).stderr).toBe("");
});

test.each(["package/bin/edge-servlets.js", "package/bin/create.js"])(
  "%s ends with one line before it loads anything else",
  async (script) => {
    await expect(runBy("20.9.0", script)).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^edge-servlets needs Node 22\.12 or newer[^\n]*\n$/),
    });
  },
);

test("the commands of the repository end with one line before an install, and by an old Node", async () => {
  const folder = await mkdtemp(join(tmpdir(), "clone-"));
  try {
    await cp("package", join(folder, "package"), { recursive: true });
    await writeFile(join(folder, "main.mjs"), 'console.log("ran");');
    const preload = pathToFileURL(join(folder, "package/demand-install.js")).href;
    const command = ["--import", preload, join(folder, "main.mjs")];
    const old = runBy("20.9.0", command[0]!, ...command.slice(1));
    await expect(old).rejects.toMatchObject({
      stderr: expect.stringMatching(/^edge-servlets needs Node 22/),
    });
    await expect(run(process.execPath, command)).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: "Its packages are not installed yet. Run: npm install\n",
    });
    await mkdir(join(folder, "node_modules/esbuild"), { recursive: true });
    expect((await run(process.execPath, command)).stdout).toBe("ran\n");
  } finally {
    await rm(folder, { recursive: true });
  }
});
