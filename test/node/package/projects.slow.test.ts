import { execFile, spawn, type ChildProcess } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VERSION } from "../../../src/server/kernel/core/version.ts";
import { readPage } from "../docs/pages.ts";
import { freePort } from "../workerd.ts";

/** A project from an empty folder, with nothing but the packed packages and the registry of npm. */
const run = promisify(execFile);
const PACKED = resolve(".bundle/packages");
const TARBALL = join(PACKED, `edge-servlets-${VERSION}.tgz`);
/** To install some 130 packages on a busy machine, in ms. */
const SLOW = 600_000;

/** As in a user's shell: without what npm and vitest have set for this run. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_|VITEST|NODE_(?!EXTRA_CA_CERTS)|TEST$|DEV$|PROD$)/.test(name),
  ),
);
const registry = await run("npm", ["view", "zod", "version"]).then(
  () => true,
  () => false,
);

describe.skipIf(!registry)("a project (needs the registry of npm)", () => {
  let folder: string;
  let project: string;
  const inProject = async (command: string, ...args: string[]) => {
    const options = { cwd: project, env, maxBuffer: 1e8 };
    const { stdout, stderr } = await run(command, args, options).catch(
      ({ stdout: said, stderr: complained }: { stdout?: string; stderr?: string }) => {
        throw new Error(`${said}${complained}`);
      },
    );
    return stdout + stderr;
  };

  beforeAll(async () => {
    await run(process.execPath, ["package/build.ts"]);
    folder = await mkdtemp(join(tmpdir(), "edge-servlets-"));
    project = join(folder, "my-server");
    const create = `--package=${join(PACKED, `create-edge-servlets-${VERSION}.tgz`)}`;
    const args = ["exec", "--yes", create, "--", "create-edge-servlets", "my-server"];
    await run("npm", args, { cwd: folder, env });
    await inProject("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", TARBALL);
  }, SLOW);
  afterAll(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  test(
    "its test passes",
    async () => {
      expect(await inProject("npm", "test")).toMatch(/Tests .*2 passed/);
    },
    SLOW,
  );

  test("its commands name the help and the guides that are there", async () => {
    await expect(inProject("npx", "edge-servlets", "strat")).rejects.toThrow(
      /no command strat.*npx edge-servlets help/,
    );
    const help = await inProject("npx", "edge-servlets", "help", "servlets");
    const [guide = ""] = /\S+\/hyper-mcp\.md/.exec(help) ?? [];
    await expect(readFile(join(project, guide), "utf8")).resolves.toContain("hyper-mcp");
  });

  test(
    "its development server serves what is there, and a servlet that is added",
    async () => {
      const port = await freePort();
      const dev = spawn("npm", ["run", "dev", "--", "--port", String(port)], {
        cwd: project,
        env,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let said = "";
      for (const output of [dev.stdout, dev.stderr])
        output.setEncoding("utf8").on("data", (text: string) => (said += text));
      try {
        const url = `http://127.0.0.1:${port}/mcp`;
        await expect
          .poll(
            () => call(url, "tools/call", { name: "greet", arguments: { name: "Ada" } }),
            PATIENT,
          )
          .toMatchObject({ content: [{ text: "Hello, Ada!" }] });
        expect(await inProject("npm", "run", "servlets", "--", "new", "shout")).toContain("shout");
        await expect
          .poll(async () => JSON.stringify(await call(url, "tools/list", {})), PATIENT)
          .toContain("shout_count");
      } catch (cause) {
        throw new Error(`The development server has said:\n${said}`, { cause });
      } finally {
        endGroup(dev);
      }
    },
    SLOW,
  );

  test(
    "it is served by workerd alone, with a servlet in another language, and ends when it is told to",
    async () => {
      await inProject("npx", "edge-servlets", "new", "sums", "--lang", "as");
      await inProject("npm", "run", "standalone", "--", "../standalone");
      const port = String(await freePort());
      const args = ["start.js", "--worker", "worker", "--port", port];
      for (const [command, ...given] of [
        ["npx", "edge-servlets", "start", "--port", port],
        [process.execPath, ...args],
      ] as [string, ...string[]][]) {
        const cwd = command === "npx" ? project : join(folder, "standalone");
        const server = spawn(command, given, { cwd, env, detached: true, stdio: "ignore" });
        const ended = new Promise((done) => server.once("exit", done));
        try {
          const url = `http://127.0.0.1:${port}/mcp`;
          await expect
            .poll(async () => JSON.stringify(await call(url, "tools/list", {})), PATIENT)
            .toMatch(/greet.*sums|sums.*greet/);
          process.kill(-server.pid!, "SIGTERM");
          await ended;
        } finally {
          endGroup(server);
        }
      }
    },
    SLOW,
  );

  test(
    "it can be deployed, also by an entry file of its own",
    async () => {
      const dryRun = () => inProject("npm", "run", "deploy", "--", "--dry-run");
      const said = await dryRun();
      expect(said).toContain("env.USAGE (Usage)");
      expect(said).toContain("note: anybody may call this server");
      const config = join(project, "wrangler.toml");
      const before = await readFile(config, "utf8");
      const { blocks } = await readPage("docs/projects.md");
      const entry = blocks.find(({ file }) => file === "worker.ts")!;
      await writeFile(join(project, "worker.ts"), entry.text);
      await writeFile(config, before.replace('".bundle/worker.ts"', '"worker.ts"'));
      expect(await dryRun()).toContain("env.USAGE (Usage)");
      await writeFile(config, before);
      await rm(join(project, "worker.ts"));
    },
    SLOW,
  );

  test(
    "one of the version before can be deployed once its configuration has the lines that are named",
    async () => {
      const config = join(project, "wrangler.toml");
      await cp("test/node/package/wrangler-0.1.0.toml", config);
      const said = await inProject("npm", "run", "bundle").catch(String);
      expect(said).toMatch(/lacks what this version of edge-servlets needs/);
      // Features that it does not bind are not in its Worker, and need nothing.
      const keys = said.match(/^compatibility_.*/gm)!.join("\n");
      const before = await readFile(config, "utf8");
      const others = before.replace(/^compatibility_date.*\n/m, "");
      await writeFile(config, [keys, others].join("\n"));
      expect(await inProject("npm", "run", "deploy", "--", "--dry-run")).toContain("env.TASKS");
    },
    SLOW,
  );
});

const PATIENT = { timeout: 240_000, interval: 1000 };

/** The result of a request without a session; undefined where nobody answers yet. */
async function call(url: string, method: string, params: object): Promise<object | undefined> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  }).catch(() => undefined);
  if (response?.ok !== true) return undefined;
  const { result } = (await response.json()) as { result?: object };
  return result;
}

/** Ends a process and those that it has started. */
function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // They have ended.
  }
}
