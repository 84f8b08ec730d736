import { execFile, spawn } from "node:child_process";
import { createReadStream, existsSync } from "node:fs";
import {
  access,
  chmod,
  glob,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { createGunzip } from "node:zlib";
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { unpackTar } from "modern-tar/fs";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { linksIn } from "../../../package/links.ts";
import { VERSION } from "../../../src/server/kernel/core/version.ts";
import { brokenLinks, readPage } from "../docs/pages.ts";
import { linkOf, PersonBrowser } from "../http/account-provider.ts";
import { CALLBACK, credentials } from "../http/oauth-client.ts";
import { textOf } from "../http/official.ts";
import { freePort } from "../workerd.ts";
import { missingInSteps } from "./steps.ts";

/**
 * A project from the packed packages, without npm and its registry: its folder of packages has what the tarball has, and
 * links to the packages that its package.json names. projects.slow.test.ts installs it as users do.
 */
const run = promisify(execFile);

let folder: string;
let create: string;
let project: string;
beforeAll(async () => {
  await run(process.execPath, ["package/build.ts"]);
  folder = await mkdtemp(join(tmpdir(), "packed-"));
  create = join(await unpacked("create-edge-servlets", join(folder, "create")), "bin/create.js");
  await inFolder(folder, create, "my-server");
  project = join(folder, "my-server");
  const installed = await unpacked("edge-servlets", join(project, "node_modules/edge-servlets"));
  for (const of of [project, installed]) await linkPackages(of);
  // As npm does; scripts of a project name the command.
  const command = join(project, "node_modules/.bin/edge-servlets");
  await mkdir(dirname(command));
  await symlink(join(installed, "bin/edge-servlets.js"), command);
  await chmod(command, 0o755);
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a file with Node; gives what it printed. */
async function inFolder(cwd: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await run(process.execPath, args, { cwd, maxBuffer: 1e8 });
  return stdout + stderr;
}

/** The content of a packed package, in this folder. */
async function unpacked(name: string, where: string): Promise<string> {
  const file = name.replace("@", "").replace("/", "-");
  const tarball = resolve(".bundle/packages", `${file}-${VERSION}.tgz`);
  await mkdir(where, { recursive: true });
  await pipeline(createReadStream(tarball), createGunzip(), unpackTar(where, { strip: 1 }));
  return where;
}

/** Links the packages that the package.json of a folder names, from ours. */
async function linkPackages(of: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(of, "package.json"), "utf8")) as {
    [kind in "dependencies" | "devDependencies"]?: Record<string, string>;
  };
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })) {
    if (name === "edge-servlets" || name === "@edge-servlets/python") continue;
    const place = join(project, "node_modules", name);
    await mkdir(dirname(place), { recursive: true });
    await symlink(resolve("node_modules", name), place).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

test("its command serves the servlet of the template, and ends when it is told to", async () => {
  const port = String(await freePort());
  const command = join("node_modules/edge-servlets/bin/edge-servlets.js");
  const server = spawn(process.execPath, [command, "start", "--port", port], {
    cwd: project,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise((done) => server.once("close", done));
  let printed = "";
  const serves = new Promise<void>((done) => {
    for (const stream of [server.stdout, server.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
        if (printed.includes(" serves http")) done();
      });
    }
  });
  try {
    await Promise.race([serves, ended]);
    expect(printed).toContain(" serves http");
    const body = { name: "greet", arguments: { name: "Ada" } };
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: body }),
    });
    expect(await response.text()).toContain("Hello, Ada!");
  } finally {
    server.kill("SIGTERM");
  }
  expect(await ended).toBe(0);
}, 180_000);

test("its Dockerfile copies only what a project has, and that of the repository what it has", async () => {
  for (const place of [project, "."]) {
    const lines = (await readFile(join(place, "Dockerfile"), "utf8")).matchAll(
      /^COPY (?!--)(.+) \S+$/gm,
    );
    const copied = [...lines].flatMap(([, names = ""]) => names.split(" "));
    expect(copied).toContain("package-lock.json");
    // npm writes it.
    for (const name of copied.filter((one) => one !== "package-lock.json"))
      await access(join(place, name));
  }
});

test("a test of the project loads its servlet", async () => {
  await writeFile(
    join(project, "try.mjs"),
    `import { loadServlet } from "edge-servlets/testing";
const { result } = await (await loadServlet("plugins/hello")).callTool("greet", { name: "Bob" });
console.log(JSON.stringify(result));`,
  );
  expect(await inFolder(project, "try.mjs")).toContain("Hello, Bob!");
});

test("a servlet with a view is made, bundled and tested there, and editors know its types", async () => {
  const command = join("node_modules/edge-servlets/bin/edge-servlets.js");
  await inFolder(project, command, "new", "words", "--view");
  await writeFile(
    join(project, "view.mjs"),
    `import { loadServlet } from "edge-servlets/testing";
const view = await (await loadServlet("plugins/words")).view("words");
const { result } = await view.call("words_words", { text: "one two two" });
console.log(view.html.length > 5000, JSON.stringify(result.structuredContent));`,
  );
  expect(await inFolder(project, "view.mjs")).toContain(
    'true {"words":[{"word":"two","count":2},{"word":"one","count":1}]}',
  );
  for (const config of ["tsconfig.servlets.json", "tsconfig.views.json"])
    expect(
      await inFolder(project, "node_modules/typescript/bin/tsc", "--noEmit", "-p", config),
    ).toBe("");
}, 180_000);

test("a servlet in Python is made, bundled and tested there, with the package that has Python", async () => {
  const command = join("node_modules/edge-servlets/bin/edge-servlets.js");
  const told = await inFolder(project, command, "new", "count", "--lang", "python");
  expect(told).toContain(`npm install -D @edge-servlets/python@${VERSION} `);
  const { extraPaths } = JSON.parse(await readFile(join(project, "pyrightconfig.json"), "utf8"));
  expect(extraPaths).toEqual(["node_modules/@edge-servlets/python"]);
  const lacking = await run(process.execPath, [command, "list"], { cwd: project }).catch(
    ({ stderr }: { stderr: string }) => stderr,
  );
  expect(lacking).toContain("in a package of its own: npm install -D @edge-servlets/python");

  const place = await unpacked("@edge-servlets/python", join(project, extraPaths[0]));
  expect(await readdir(place)).toEqual(
    expect.arrayContaining(["LICENSE", "README.md", "edge_servlets", "fastmcp", "licenses"]),
  );
  await access(join(place, "edge_servlets/py.typed"));
  await writeFile(
    join(project, "count.mjs"),
    `import { loadServlet } from "edge-servlets/testing";
const servlet = await loadServlet("plugins/count");
const { result } = await servlet.callTool("count_count", { text: "one two" });
console.log(JSON.stringify(result.structuredContent));`,
  );
  expect(await inFolder(project, "count.mjs")).toContain('{"words":2,"lines":1,"characters":7}');
  // It comes prepared: nothing of it was done here.
  const bundled = await inFolder(project, command, "bundle");
  expect(bundled).toMatch(/count/);
  expect(bundled).not.toContain("preparing");
}, 180_000);

/** A call of the servlet of each template, and what its answer has. */
const CALLS: Record<string, [tool: string, args: Record<string, unknown>, answer: RegExp]> = {
  plain: ["greet", { name: "Ada" }, /Hello, Ada!/],
  team: ["who", {}, /^You are http:\/\/localhost:\d+ ada\.$/],
  python: ["text_count", { text: "one two" }, /"words":2/],
  openapi: ["library_list_books", { author: "Ada" }, /Notes on the Engine/],
  remote: ["tides-next_tide", { port: "Dover" }, /High tide at Dover/],
  sdk: ["convert_units", { value: 3, from: "mi", to: "km" }, /3 mi = 4.828032 km/],
};

/** What a command prints there, and its arguments. */
const ALSO: Partial<Record<string, [printed: string, ...args: string[]][]>> = {
  remote: [["has not changed since", "renew", "tides"]],
  team: [["env.OAUTH_KV", "deploy", "--dry-run"]],
};

test.each(await readdir("package/starters"))(
  "a project from the template %s passes its test, and its development server answers a client",
  async (template) => {
    await inFolder(folder, create, `my-${template}`, "--template", template);
    const at = join(folder, `my-${template}`);
    // Templates name the ports of `dev` and of `local`, which other programs may use.
    const [port, localPort] = [await freePort(), await freePort()];
    for await (const file of glob(["*.{js,toml,yaml}", "plugins/*/*"], { cwd: at })) {
      const text = await readFile(join(at, file), "utf8");
      const moved = text.replaceAll("8787", String(port)).replaceAll("8788", String(localPort));
      await writeFile(join(at, file), moved);
    }
    // All use the packages of one project, with what each of them needs besides.
    await linkPackages(at);
    await symlink(join(project, "node_modules"), join(at, "node_modules"));
    const command = "node_modules/edge-servlets/bin/edge-servlets.js";
    const dev = started(at, command, "dev", "--port", String(port));
    const local = existsSync(join(at, "local.js")) ? started(at, "local.js") : undefined;
    try {
      const url = new URL(`http://localhost:${port}/mcp`);
      const [tested] = await Promise.all([
        inFolder(at, command, "test"),
        vi.waitUntil(async () => dev.hasEnded() || (await answers(url.origin)), PATIENT),
      ]);
      expect(tested).toMatch(/Tests .*passed/);
      const [tool, args, answer] = CALLS[template]!;
      const client = await connected(url);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain(tool);
      expect(textOf(await client.callTool({ name: tool, arguments: args }))).toMatch(answer);
      await client.close();
      for (const [printed, ...commands] of ALSO[template] ?? [])
        expect(await inFolder(at, command, ...commands)).toContain(printed);
    } catch (cause) {
      throw new Error(`${dev.said()}\n${local?.said() ?? ""}`, { cause });
    } finally {
      dev.end();
      local?.end();
    }
  },
  300_000,
);

const PATIENT = { timeout: 120_000, interval: 100 };

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

/** A process in a group of its own, which is ended as a whole. */
function started(cwd: string, ...args: string[]) {
  const child = spawn(process.execPath, args, { cwd, detached: true });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  const hasEnded = () => child.exitCode !== null;
  return {
    said: () => said,
    hasEnded,
    end() {
      if (!hasEnded()) process.kill(-child.pid!, "SIGKILL");
    },
  };
}

/** The official client at a server; where that asks for it, ada signs in at the provider `local`. */
async function connected(url: URL): Promise<Client> {
  const { provider, asked } = credentials();
  const attempt = async () => {
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }));
    return client;
  };
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const browser = new PersonBrowser(({ href }) => href.startsWith(CALLBACK));
    const link = linkOf(await browser.open(asked().href), "Continue with local");
    const back = await browser.go(link, { login: "ada", password: "any", decision: "allow" });
    const transport = new StreamableHTTPClientTransport(url, { authProvider: provider });
    await transport.finishAuth(back.url.searchParams);
    return attempt();
  }
}

test("a project adds every servlet of the gallery, and tests them", async () => {
  await inFolder(folder, create, "gallery");
  const at = join(folder, "gallery");
  await linkPackages(at);
  await symlink(join(project, "node_modules"), join(at, "node_modules"));
  await rm(join(at, "plugins"), { recursive: true });
  const command = "node_modules/edge-servlets/bin/edge-servlets.js";
  const names = await Array.fromAsync(glob("*/servlet.json", { cwd: "plugins" }), dirname);
  const told: string[] = [];
  for (const name of names) {
    const added = await inFolder(at, command, "add", name);
    expect(added).toContain(`plugins/${name} is made`);
    told.push(...(added.match(/npm install (?!.*python).+/g) ?? []));
  }
  expect(told).toEqual(["npm install @modelcontextprotocol/server"]);
  const listed = await inFolder(at, command, "list");
  expect(listed.match(/^[\w-]+ \(/gm)).toHaveLength(names.length);
  const tested = await inFolder(at, command, "test", "plugins/tasks", "plugins/units");
  expect(tested).toMatch(/Test Files .*2 passed/);
}, 300_000);

test("the packages are ready to publish, with where they were made", async () => {
  // To make them, `package/build.ts` has had npm try to publish each.
  for (const [name, files] of [
    ["edge-servlets", ["bin", "dist", "starters", "template"]],
    ["create-edge-servlets", ["bin", "dist", "starters", "template"]],
    ["python", ["python.bin", "edge_servlets", "licenses"]],
  ] as const) {
    const text = await readFile(`.bundle/packages/${name}/package.json`, "utf8");
    expect(JSON.parse(text)).toMatchObject({
      publishConfig: { access: "public", provenance: true },
      repository: { type: "git", url: "git+https://github.com/edge-servlets/edge-servlets.git" },
      files: expect.arrayContaining([...files]),
    });
  }
});

test("links of its documents lead to what is packed, or to what is in the repository", async () => {
  const installed = join(project, "node_modules/edge-servlets");
  const pages = await Array.fromAsync(glob(["*.md", "docs/**/*.md"], { cwd: installed }));
  expect(pages).toEqual(expect.arrayContaining(["SECURITY.md", "docs/access.md"]));
  const repository = /^https:\/\/github\.com\/edge-servlets\/edge-servlets\/blob\/HEAD\//;
  const elsewhere: string[] = [];
  for (const page of [...pages.map((one) => join(installed, one)), join(project, "README.md")]) {
    const text = await readFile(page, "utf8");
    expect({ page, broken: await brokenLinks(linksIn(text), page) }).toEqual({ page, broken: [] });
    for (const [, target] of text.matchAll(/\]\(([^)]*)\)/g))
      if (repository.test(target!)) elsewhere.push(target!.replace(repository, ""));
  }
  expect(elsewhere).toContain("README.md#connect-a-client");
  expect(await brokenLinks(elsewhere, "README.md")).toEqual([]);
});

test("a project can say how large its Worker is", async () => {
  const { scripts } = JSON.parse(await readFile(join(project, "package.json"), "utf8"));
  expect(scripts.size).toBe("edge-servlets size");
});

test.each(["mcp-agent", "fastmcp", "mcp-handler", "hyper-mcp", "wassette"])(
  "the steps of docs/compare/%s.md lead from an empty folder to a server that answers",
  async (name) => {
    const modules = join(project, "node_modules");
    await unpacked("@edge-servlets/python", join(modules, "@edge-servlets/python"));
    // No registry is asked: the plugin and the component are those of the tests.
    const plugin = `file://${resolve("test/guests/keeping/plugin.wasm")}`;
    const component = `file://${resolve("test/node/components/shapes/shapes.wasm")}`;
    const missing = await missingInSteps(
      await mkdtemp(join(folder, `${name}-`)),
      await readPage(`docs/compare/${name}.md`),
      { create, modules },
      {
        "oci://ghcr.io/hyper-mcp-rs/time-plugin:latest": plugin,
        "oci://ghcr.io/microsoft/time-server-js:latest": component,
        "get-current-time": '"name":"variable"',
      },
    );
    expect(missing).toEqual([]);
  },
  180_000,
);
