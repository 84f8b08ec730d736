import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

/** Runs a script by a Node that says that it is of this version. */
const runBy = (version: string, script: string, ...args: string[]) => {
  const fake = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`;
  const url = `data:text/javascript,${encodeURIComponent(fake)}`;
  return run(process.execPath, ["--import", url, script, ...args], { env: environment() });
};

/** npm says in its environment by which Node it runs itself. */
const environment = (npms?: string) => {
  const { npm_config_user_agent: _, ...others } = process.env;
  const agent = npms && { npm_config_user_agent: `npm/10.8.2 node/v${npms} linux x64` };
  return { ...others, ...agent };
};

const CHECK = "package/bin/demand-node.js";

test.each(["18.20.8", "20.9.0", "21.7.3", "22.11.0"])(
  "an install in the repository says that %s is too old, and goes on",
  async (version) => {
    const line = `edge-servlets needs Node 22.12 or newer, and this is ${version}. Install one from https://nodejs.org.`;
    const { stderr } = await runBy(version, CHECK);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr).toContain(line);
    // The check runs after the install, by the Node that came with it.
    const ran = await run(process.execPath, [CHECK], { env: environment(version) });
    expect(ran.stderr).toBe(stderr);
  },
);

test.each(["22.12.0", "23.0.0", "24.11.1"])("%s is new enough", async (version) => {
  expect((await runBy(version, CHECK)).stderr).toBe("");
  expect((await run(process.execPath, [CHECK], { env: environment(version) })).stderr).toBe("");
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
