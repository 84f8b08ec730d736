import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { build, sourceIn } from "../../../../src/tools/bundle/source.ts";
import { tarLayer, WASM } from "../../../node/bundle/sources/adding.ts";
import { TestRegistry } from "../../../node/bundle/sources/registry.ts";
import { bundleByKey, keyPair, pem, signByKey } from "../../../node/bundle/sources/signing.ts";
import { freePort } from "../../../node/workerd.ts";
import { Operator } from "../../../node/http/installing.ts";

/**
 * All that the documents promise of servlets from elsewhere, one after the other, in a project without servlets: by the
 * commands that a user types, `npm run dev` and an official client.
 */

/** Plugins of others, one for each form: the folder of each here, and a call with its reply. */
const PLUGINS: Record<string, [folder: string, tool: string, args: object, reply: string]> = {
  hello: ["plugins/hello", "greet", { name: "Ada" }, "Hello, Ada!"],
  echo: ["test/guests/echo", "echo", { text: "heard" }, "heard"],
  faulty: ["test/guests/faulty", "fine", {}, "fine"],
  keeping: ["test/guests/keeping", "count", {}, '{"calls":1}'],
};

const registry = new TestRegistry();
let project: string;
let server: ChildProcess;
let origin: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "shown-"));
  await cp("src", join(project, "src"), { recursive: true });
  await mkdir(join(project, "plugins"));
  for (const name of ["node_modules", ".bundle", "package.json", "tsconfig.json"]) {
    await symlink(resolve(name), join(project, name));
  }
  for (const name of ["tsconfig.base.json", "plugins/tsconfig.json"]) {
    await cp(name, join(project, name));
  }
  // As docs/installing.md says.
  const toml = await readFile("wrangler.toml", "utf8");
  const bound = toml.replace(/(# \[\[r2_buckets\]\][^]*?# binding = "LOADER"\n)/, (lines) =>
    lines.replaceAll("# ", ""),
  );
  await writeFile(join(project, "wrangler.toml"), bound);
  await registry.start();
});
afterAll(async () => {
  if (server !== undefined) {
    const gone = once(server, "exit");
    process.kill(-server.pid!, "SIGKILL");
    await gone;
  }
  await registry.stop();
  await rm(project, { recursive: true, force: true });
});

/** Runs a command of npm in the project; gives what it prints. */
function npmRun(...args: string[]): Promise<string> {
  const env = { ...process.env, DOCKER_CONFIG: join(project, "docker") };
  return new Promise((done, fail) => {
    execFile("npm", ["run", "--silent", ...args], { cwd: project, env }, (error, stdout, stderr) =>
      error === null ? done(stdout) : fail(new Error(stdout + stderr)),
    );
  });
}

/** The commands of `npm run servlets` that change a server. */
const servlets = (...args: string[]) =>
  npmRun("servlets", "--", ...args, "--to", origin, "--yes").then((said) => said.trim());

/** Serves the project, as `npm run dev` does. */
async function serve(): Promise<void> {
  const port = await freePort();
  origin = `http://localhost:${port}`;
  const args = ["run", "dev", "--", "--port", `${port}`, "--inspector-port", `${await freePort()}`];
  // A group of its own, so that workerd dies with it.
  server = spawn("npm", args, { cwd: project, detached: true, stdio: "ignore" });
  const health = async () => expect((await fetch(`${origin}/health`)).ok).toBe(true);
  await vi.waitFor(health, { timeout: 120_000, interval: 200 });
}

/** Puts a plugin into the registry, packed and signed in one of the forms that there are. */
async function pushed(name: string, folder: string, at: number, key: ReturnType<typeof keyPair>) {
  const bytes = await build((await sourceIn(folder, LANGUAGES))!, ".bundle", () => {});
  const layer = at % 2 === 0 ? await tarLayer(bytes) : { mediaType: WASM, bytes };
  const repository = `acme/${name}`;
  const { digest } = registry.image(repository, "v1", [layer]);
  if (at % 4 < 2) signByKey(registry, repository, digest, { key: key.privateKey });
  else bundleByKey(registry, repository, digest, key.privateKey);
  return `oci://${registry.host}/${repository}:v1`;
}

/** A servlet that waits for its user's approval. */
async function written(version: string): Promise<string> {
  const folder = join(project, "elsewhere", "approval");
  const from = await readFile("plugins/approval/servlet.ts", "utf8");
  const text = from.replaceAll("Please approve", `${version}: please approve`);
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "servlet.ts"),
    text.replace('approved: "', `approved: "${version}: `),
  );
  for (const file of ["approval.tsx", "approval.css"])
    await copyFile(join("plugins/approval", file), join(folder, file));
  return folder;
}

async function connected(onAsk: (question: string) => Promise<void>) {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    {
      versionNegotiation: { mode: { pin: "2026-07-28" } },
      capabilities: { elicitation: { form: {} } },
    },
  );
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    await onAsk(params.message);
    return { action: "accept", content: { approve: true } };
  });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", origin)));
  const call = async (name: string, args: object) => {
    const { content } = await client.callTool({ name, arguments: { ...args } });
    return (content as { text: string }[])[0]!.text;
  };
  const tools = async () => (await client.listTools()).tools.map(({ name }) => name);
  return { client, call, tools };
}

const EVENTUALLY = { timeout: 20_000, interval: 200 };

test(
  "plugins are imported and served, and another is installed, changed, rolled back and uninstalled",
  { timeout: 240_000 },
  async () => {
    const key = keyPair();
    await writeFile(join(project, "cosign.pub"), pem(key.publicKey));
    const lines: string[] = [];
    for (const [at, [name, [folder]]] of Object.entries(PLUGINS).entries()) {
      lines.push(`  ${name}:`, `    url: ${await pushed(name, folder, at, key)}`);
    }
    await writeFile(join(project, "config.yaml"), `plugins:\n${lines.join("\n")}\n`);
    await npmRun("servlets", "--", "import", "config.yaml", "--key", "cosign.pub");
    const lock = await readFile(join(project, "plugins/servlets.lock.json"), "utf8");
    const { servlets: pinned } = JSON.parse(lock) as { servlets: Record<string, object> };
    expect(pinned).toEqual(
      Object.fromEntries(
        Object.keys(PLUGINS).map((name) => [
          name,
          expect.objectContaining({ signed: expect.objectContaining({ by: "key" }) }),
        ]),
      ),
    );

    // From here on nothing but the cache is needed.
    await registry.stop();
    await serve();
    const asked: string[] = [];
    const user = await connected(async (question) => void asked.push(question));
    for (const [name, [, tool, args, reply]] of Object.entries(PLUGINS)) {
      expect(await user.call(`${name}-${tool}`, args)).toBe(reply);
    }

    const heard: string[] = [];
    const method = "notifications/tools/list_changed";
    user.client.setNotificationHandler(method, () => void heard.push(method));
    const subscription = await user.client.listen({ toolsListChanged: true });
    expect(await servlets("install", await written("one"))).toMatch(/is installed as version 1,/);
    const { servlets: installed } = await new Operator(new URL(origin)).json("GET", "servlet/");
    expect(installed).toMatchObject([{ name: "approval", version: 1, by: "anonymous" }]);
    await expect.poll(() => heard.length, EVENTUALLY).toBe(1);
    expect(await user.tools()).toContain("request_approval");
    const approve = () => user.call("request_approval", { what: "this" });
    expect(await approve()).toBe("one: Approved: this");
    expect(asked.splice(0)).toEqual(["one: please approve: this"]);

    const waiting = await connected(async (question) => {
      expect(question).toBe("one: please approve: that");
      expect(await servlets("install", await written("two"))).toMatch(/is installed as version 2,/);
      await expect.poll(approve, EVENTUALLY).toBe("two: Approved: this");
    });
    expect(await waiting.call("request_approval", { what: "that" })).toBe("one: Approved: that");
    expect(asked.splice(0).at(-1)).toBe("two: please approve: this");
    await waiting.client.close();

    expect(await servlets("rollback", "approval")).toMatch(/is served as version 1 every/);
    await expect.poll(approve, EVENTUALLY).toBe("one: Approved: this");
    expect(await servlets("uninstall", "approval")).toMatch(/^approval is uninstalled/m);
    const before = heard.length;
    await expect.poll(user.tools, EVENTUALLY).not.toContain("request_approval");
    await expect.poll(() => heard.length, EVENTUALLY).toBeGreaterThan(before);
    expect(await user.call("hello-greet", { name: "Ada" })).toBe("Hello, Ada!");
    await subscription.close();
    await user.client.close();
  },
);
