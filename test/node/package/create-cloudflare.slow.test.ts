import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse } from "smol-toml";
import { expect, test } from "vitest";

const run = promisify(execFile);
const REPOSITORY = "edge-servlets/edge-servlets";
const registry = await run("npm", ["view", "create-cloudflare", "version"]).then(
  () => true,
  () => false,
);

/** With git's own copy of the last commit in place of GitHub. */
test.skipIf(!registry)(
  "npm create cloudflare makes a server of the repository that can be deployed (needs the registry of npm)",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "create-cloudflare-"));
    try {
      const origin = join(folder, "origin.git");
      await run("git", ["clone", "--quiet", "--bare", ".", origin]);
      const insteadOf = `url.file://${origin}.insteadOf`;
      const env = {
        ...Object.fromEntries(
          Object.entries(process.env).filter(
            ([name]) => !/^(npm_|VITEST|NODE_(?!EXTRA))/.test(name),
          ),
        ),
        GIT_CONFIG_COUNT: "2",
        GIT_CONFIG_KEY_0: insteadOf,
        GIT_CONFIG_VALUE_0: `https://github.com/${REPOSITORY}`,
        GIT_CONFIG_KEY_1: insteadOf,
        GIT_CONFIG_VALUE_1: `git@github.com:${REPOSITORY}`,
      };
      const template = ["--template", `github:${REPOSITORY}`, "--template-mode", "git"];
      const answers = ["--no-deploy", "--no-git", "--no-agents"];
      const args = ["exec", "--yes", "create-cloudflare@2", "--", "my-server"];
      await run("npm", [...args, ...template, ...answers], { cwd: folder, env, maxBuffer: 1e8 });
      const cwd = join(folder, "my-server");
      expect(parse(await readFile(join(cwd, "wrangler.toml"), "utf8"))).toMatchObject({
        name: "my-server",
        kv_namespaces: [{ binding: "OAUTH_KV" }],
      });
      const deploy = ["run", "deploy", "--", "--dry-run"];
      const { stdout } = await run("npm", deploy, { cwd, env, maxBuffer: 1e8 });
      expect(stdout).toContain("env.SERVLET_STATES");
    } finally {
      await rm(folder, { recursive: true });
    }
  },
  600_000,
);
