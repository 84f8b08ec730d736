import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  dev,
  faultInSettings,
  readDev,
  readiness,
  reloadForVariables,
} from "../../../../src/tools/commands/dev.ts";
import { placeOfRuns } from "../../../../src/tools/commands/place-of-runs.ts";
import { runNodeScript } from "../../../../src/tools/commands/wrangler.ts";
import { run } from "./running.ts";

const devArguments = async (given: string[]) => (await readDev(given)).args;

/** `dev` tells the Worker who can reach it, and wrangler at which address to listen. */

let folder: string;
const file = (name: string) => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dev-"));
  await writeFile(file("plain.toml"), 'name = "x"\n');
  await writeFile(file("all.toml"), '[dev]\nip = "0.0.0.0"\n');
  await writeFile(file("star.toml"), '[dev]\nip = "*"\nport = 9000\n');
  await writeFile(file("own.toml"), '[dev]\nip = "127.0.0.1"\n');
  await writeFile(file("host.toml"), '[dev]\nhost = "localhost"\n');
  await writeFile(file("own.jsonc"), `{ "dev": { "host": "localhost" } }`);
  await writeFile(file("wrangler.toml"), '[dev]\nip = "192.0.2.7"\n');
});
afterAll(() => rm(folder, { recursive: true }));

const of = async (args: string[], config = "plain.toml") => {
  const [command, ...all] = await devArguments(["--config", file(config), ...args]);
  expect(command).toBe("dev");
  const end = all.includes("--") ? all.indexOf("--") : all.length;
  const [runs, ip] = all.slice(end - 2, end);
  expect(all.slice(0, end - 2).filter((arg) => /^--ip\b/.test(arg))).toEqual([]);
  return {
    runs: /^--var=EDGE_SERVLETS_RUNS:(.*)$/.exec(runs!)?.[1],
    ip: /^--ip=(.*)$/.exec(ip!)?.[1],
  };
};

const HERE = process.platform === "win32" ? "127.0.0.1" : "localhost";

describe("only this machine reaches it", () => {
  test.each<[string[], string, string?]>([
    [[], HERE],
    [["--port", "9000"], HERE],
    [["--ip", "127.0.0.1"], "127.0.0.1"],
    [["--ip=localhost"], "localhost"],
    [["--ip", "::1"], "::1"],
    [["--ip", "0.0.0.0", "--ip", "127.0.0.2"], "127.0.0.2"],
    [["--ip", "127.0.0.1"], "127.0.0.1", "all.toml"],
    [[], "127.0.0.1", "own.toml"],
    [[], HERE, "missing.toml"],
    // Behind `--` there are no options: wrangler takes no address from there either.
    [["--", "--ip", "0.0.0.0"], HERE],
    [["--var", "EDGE_SERVLETS_RUNS:on-network"], HERE],
    [["--show-interactive-dev-session=false"], HERE],
  ])("with %j", async (args, ip, config) => {
    // The keys of wrangler's session could open a tunnel.
    const session = (await devArguments(args)).filter((arg) => /interactive/.test(arg));
    expect(session).toEqual(["--show-interactive-dev-session=false"]);
    expect(await of(args, config)).toEqual({ runs: "on-loopback", ip });
  });
});

describe("others may reach it", () => {
  test.each<[string[], string, string?]>([
    [["--ip", "0.0.0.0"], "0.0.0.0"],
    [["--ip=0.0.0.0"], "0.0.0.0"],
    [["--ip", "::"], "::"],
    [["--ip=::"], "::"],
    [["--ip", "*"], "*"],
    [["--ip", "192.168.1.5", "--port", "80"], "192.168.1.5"],
    [["--ip", "127.0.0.1.evil.example"], "127.0.0.1.evil.example"],
    [["--ip", "127.0.0.1", "--ip=0.0.0.0"], "0.0.0.0"],
    [["--ip", "0.0.0.0", "--", "--ip", "127.0.0.1"], "0.0.0.0"],
    [["--ip"], ""],
    [["--ip="], ""],
    [[], "0.0.0.0", "all.toml"],
    [[], "*", "star.toml"],
    [["--var", "EDGE_SERVLETS_RUNS:on-loopback", "--ip", "0.0.0.0"], "0.0.0.0"],
    [["--remote"], HERE],
    [["-r"], HERE],
    [["-lr"], HERE],
    [["--tunnel"], HERE],
    [["--tunnel=true"], HERE],
    [["--tunnel-name", "mine", "--tunnel"], HERE],
    // It then takes every Host for this one, also a name that was rebound to this machine.
    [["--host", "localhost"], HERE],
    [["--show-interactive-dev-session"], HERE],
    [["--show-interactive-dev-session=true"], HERE],
    [["--showInteractiveDevSession"], HERE],
    [["--no-show-interactive-dev-session"], HERE],
    [["--show-interactive-dev-session=false", "--show-interactive-dev-session"], HERE],
    [["--local-upstream=localhost"], HERE],
    [[], HERE, "host.toml"],
    // Its host is not known.
    [[], HERE, "own.jsonc"],
  ])("with %j", async (args, ip, config) => {
    expect(await of(args, config)).toEqual({ runs: "on-network", ip });
  });
});

test("a configuration is found as wrangler finds it", async () => {
  const args = async (given: string[]) => (await devArguments(given)).at(-1);
  expect(await args(["-c", file("all.toml")])).toBe("--ip=0.0.0.0");
  expect(await args([`--config=${file("all.toml")}`])).toBe("--ip=0.0.0.0");
  expect(await args(["--cwd", folder])).toBe("--ip=192.0.2.7");
  expect(await args(["--cwd", folder, "-c", "own.toml"])).toBe("--ip=127.0.0.1");
});

test("all other arguments reach wrangler", async () => {
  const given = ["src/index.ts", "--ip", "::1", "--port", "9000", "--define", "A:1", "--", "x"];
  expect(await devArguments(given)).toEqual([
    "dev",
    "src/index.ts",
    "--port",
    "9000",
    "--define",
    "A:1",
    "--show-interactive-dev-session=false",
    "--var=EDGE_SERVLETS_RUNS:on-loopback",
    "--ip=::1",
    "--",
    "x",
  ]);
});

test("a port that is taken is one line, and nothing is started", async () => {
  for (const [ip, at] of [
    ["127.0.0.1", "127.0.0.1"],
    ["localhost", "127.0.0.1"],
  ] as const) {
    const taken = createServer().listen(0, at);
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    try {
      await expect(
        dev(["--config", file("plain.toml"), "--ip", ip, "--port", String(port)]),
      ).rejects.toThrow(
        /^Port \d+ of (127\.0\.0\.1|localhost) is taken by another program, process \d+\. .*--port PORT$/,
      );
      await expect(
        dev(["--config", file("plain.toml"), "--ip", ip, "--port", String(port)]),
      ).rejects.toThrow(`process ${process.pid}.`);
    } finally {
      taken.close();
    }
  }
});

test("help is shown before anything is made", async () => {
  const empty = await mkdtemp(join(tmpdir(), "dev-help-"));
  const cli = resolve("src/tools/commands/cli.ts");
  for (const [command, own] of Object.entries({
    dev: "--port",
    start: "--trust-proxy",
    size: "edge-servlets size",
    standalone: "edge-servlets standalone",
    "keys create": "keys -- create NAME",
    new: "servlets -- new NAME",
    import: "servlets -- import FILE",
    list: "servlets -- list",
    versions: "servlets -- versions",
  })) {
    const given = [cli, ...command.split(" "), "--help"];
    const { stdout, stderr } = await promisify(execFile)("node", given, { cwd: empty });
    expect(stdout).toContain(own);
    expect(stdout + stderr).not.toContain("The bundle was not made");
  }
  expect(await readdir(empty)).toEqual([]);
});

describe("what is said when the server is ready", () => {
  let project: string;
  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), "dev-ready-"));
    await mkdir(join(project, "servlets/issues"), { recursive: true });
    await writeFile(join(project, "servlets/issues/plugin.wat"), "(module)");
    const manifest = { env_vars: { api: "${ISSUES_API}", page: "${PAGE_SIZE:-20}" } };
    await writeFile(join(project, "servlets/issues/servlet.json"), JSON.stringify(manifest));
    vi.stubEnv("SERVLETS", join(project, "servlets"));
    await writeFile(join(project, "wrangler.toml"), 'name = "x"\n[vars]\nSERVER_NAME = "x"\n');
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await rm(project, { recursive: true });
  });

  const said = async (variables: string, more: object = {}, url = "http://localhost:8787") => {
    await writeFile(join(project, ".dev.vars"), variables);
    const configuration = { file: join(project, "wrangler.toml") };
    const all = { port: undefined, env: undefined, isAlone: true, ...more, ...configuration };
    return (await readiness(all, new URL(url))).trim().split("\n");
  };

  test("where it is, that anybody may call, and which settings are missing", async () => {
    expect(await said("")).toEqual([
      expect.stringMatching(/^MCP endpoint +http:\/\/localhost:8787\/mcp$/),
      expect.stringMatching(/^ +Page +http:\/\/localhost:8787$/),
      expect.stringMatching(/^ +Who may call +anybody on this machine/),
      expect.stringMatching(/^ +Missing +issues needs ISSUES_API: set it in \.dev\.vars$/),
    ]);
  });

  test("that a missing setting belongs into .env, where only that is there", async () => {
    await writeFile(join(project, ".env"), "OTHER=1\n");
    const all = {
      port: undefined,
      env: undefined,
      isAlone: true,
      file: join(project, "wrangler.toml"),
    };
    await rm(join(project, ".dev.vars"), { force: true });
    const printed = await readiness(all, new URL("http://localhost:8787"));
    expect(printed).toMatch(/issues needs ISSUES_API: set it in \.env$/m);
    await rm(join(project, ".env"));
  });

  test("nothing more where all is there", async () => {
    const lines = await said("ISSUES_API=x\nAPI_KEYS={}\n");
    expect(lines).toHaveLength(3);
    expect(lines[2]).toMatch(/callers that API_KEYS lets in/);
  });

  test("which variables nothing uses, and what was probably meant", async () => {
    const accounts = `ACCOUNTS={"hub":{"authorization_endpoint":"https://x.example/a","token_endpoint":"https://x.example/t","client_id":"me","client_secret":"HUB_SECRET"}}`;
    const lines = await said(
      `ISSUES_APl=x\nAPI_KEY={}\nHUB_SECRET=x\nPAGE_SIZE=3\nCOLOUR=red\n${accounts}\n`,
    );
    expect(lines.filter((line) => line.includes("Unused")).map((line) => line.trim())).toEqual([
      "Unused        no servlet and nothing of the server uses ISSUES_APl; did you mean ISSUES_API?",
      "Unused        no servlet and nothing of the server uses API_KEY; did you mean API_KEYS?",
      "Unused        no servlet and nothing of the server uses COLOUR",
    ]);
  });

  test("of many variables that nothing uses, only those that are misspelt", async () => {
    const others = Array.from({ length: 9 }, (_, nth) => `FOR_OTHERS_${nth}=x\n`).join("");
    const lines = await said(`${others}ISSUES_API=x\nAPI_KEY={}\n`);
    expect(lines.filter((line) => line.includes("Unused"))).toEqual([
      expect.stringContaining("API_KEY; did you mean API_KEYS?"),
    ]);
  });

  test("that others reach it, that a setting is empty, and that another port was taken", async () => {
    const lines = await said("ISSUES_API=\n", { isAlone: false }, "http://localhost:8788");
    expect(lines.join("\n")).toMatch(
      /:8788\/mcp[^]*ANYBODY who reaches it[^]*ISSUES_API[^]*port 8787 is taken/,
    );
  });
});

test("wrangler asks nobody about this machine's network, unless it is told to", async () => {
  const name = "CLOUDFLARE_CF_FETCH_ENABLED";
  const printed = async () => {
    let text = "";
    await runNodeScript(["-p", `process.env.${name}`], (chunk) => (text += chunk));
    return text.trim();
  };
  expect(await printed()).toBe("false");
  vi.stubEnv(name, "true");
  expect(await printed()).toBe("true");
  vi.unstubAllEnvs();
});

test("a configuration that is not there is left to wrangler", () => {
  expect(reloadForVariables("/nowhere/at/all/wrangler.toml")()).toBeUndefined();
});

test("variables that change have wrangler read its configuration again", async () => {
  const project = await mkdtemp(join(tmpdir(), "dev-vars-"));
  const configuration = join(project, "wrangler.toml");
  await writeFile(configuration, "");
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  const summary = async () => "missing: issues needs ISSUES_API";
  const stop = reloadForVariables(configuration, { summary });
  try {
    const vars = join(project, ".dev.vars");
    const changes: (() => Promise<void>)[] = [
      () => writeFile(vars, "A=1\n"),
      () => writeFile(vars, "A=2\n"),
      () => rm(vars),
      () => writeFile(join(project, ".dev.vars.staging"), "A=1\n"),
      () => writeFile(join(project, ".env"), "A=1\n"),
    ];
    for (const change of changes) {
      await utimes(configuration, 0, 0);
      await change();
      await expect.poll(async () => (await stat(configuration)).mtimeMs).toBeGreaterThan(0);
    }
    expect(log.mock.calls.flat()).toContain(
      ".dev.vars has changed: the server reloads, which takes some seconds",
    );
    expect(log.mock.calls.flat()).toContain("From then on: missing: issues needs ISSUES_API");
  } finally {
    stop();
    log.mockRestore();
    await rm(project, { recursive: true });
  }
});

test("a setting with a fault is named, and the server keeps the earlier variables", async () => {
  const project = await mkdtemp(join(tmpdir(), "dev-fault-"));
  const configuration = join(project, "wrangler.toml");
  const vars = join(project, ".dev.vars");
  await writeFile(configuration, "[vars]\nAUTH = 'none'\n");
  const faultIn = () => faultInSettings({ file: configuration, env: undefined });
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  expect(await faultIn()).toBeUndefined();
  const stop = reloadForVariables(configuration, { faultIn });
  try {
    await utimes(configuration, 0, 0);
    await writeFile(vars, "LIMITS={bad\n");
    await expect
      .poll(() => error.mock.calls.flat(), { timeout: 30_000 })
      .toEqual([
        expect.stringMatching(
          /^\.dev\.vars .* keeps the earlier .*: The .* LIMITS: is not JSON\.$/,
        ),
      ]);
    expect((await stat(configuration)).mtimeMs).toBe(0);
    await writeFile(vars, "LIMITS={}\n");
    const changed = async () => (await stat(configuration)).mtimeMs;
    await expect.poll(changed, { timeout: 30_000 }).toBeGreaterThan(0);
  } finally {
    stop();
    error.mockRestore();
    log.mockRestore();
    await rm(project, { recursive: true });
  }
});

describe("nothing but `dev` says that only this machine reaches the server", () => {
  let project: string;
  beforeEach(async () => void (project = await mkdtemp(join(tmpdir(), "runs-"))));
  afterEach(() => rm(project, { recursive: true }));

  test.each<[string, string]>([
    [".dev.vars", "A=1\nEDGE_SERVLETS_RUNS=on-loopback\n"],
    [".dev.vars.staging", "export EDGE_SERVLETS_RUNS = 'on-loopback'"],
    [".env", "EDGE_SERVLETS_RUNS: on-loopback"],
    [".env.local", "\r\nEDGE_SERVLETS_RUNS=on-network\r\n"],
    [".env.staging.local", "EDGE_SERVLETS_RUNS="],
    ["wrangler.toml", '[vars]\nEDGE_SERVLETS_RUNS = "on-loopback"'],
    ["wrangler.toml", '[env.staging]\nvars = { A = "1", "EDGE_SERVLETS_RUNS" = "x" }'],
    ["wrangler.toml", '[env.staging.vars]\n"EDGE_SERVLETS_RUNS"="on-loopback" # here'],
    ["other.toml", 'vars.EDGE_SERVLETS_RUNS = "on-loopback"'],
    ["wrangler.toml", '[vars]\n"EDGE_SERVLETS_\\u0052UNS" = "on-loopback"'],
    ["wrangler.toml", '[vars]\n"\\U00000045DGE_SERVLETS_RUNS" = "x"'],
    ["wrangler.toml", 'unsafe.bindings = [{ name = "EDGE_SERVLETS_RUNS", type = "plain_text" }]'],
    ["wrangler.toml", '[text_blobs]\nEDGE_SERVLETS_RUNS = "./runs"'],
    ["wrangler.jsonc", '{ "vars": { "EDGE_SERVLETS_\\u0052UNS": "x", }, /* " */ }'],
    ["wrangler.jsonc", '{ "url": "https://a.example", "vars": { "EDGE_SERVLETS_RUNS": "x" } }'],
    ["wrangler.jsonc", '\uFEFF{ // a \u2028 here\n "vars": { "EDGE_SERVLETS_RUNS": "x" } }'],
    ["wrangler.json", '{"vars":{"EDGE_SERVLETS_RUNS":"on-loopback"}}'],
    ["wrangler.jsonc", '{ // here\n "env": { "a": { "vars": { "EDGE_SERVLETS_RUNS" : "x" } } } }'],
  ])("in %s: %s", async (name, text) => {
    await writeFile(join(project, name), text);
    expect(await placeOfRuns(project, {})).toBe(name);
  });

  test.each<[string, string]>([
    [".dev.vars", "# EDGE_SERVLETS_RUNS=on-loopback\nEDGE_SERVLETS_KEY=x"],
    ["wrangler.jsonc", '{\n  // "EDGE_SERVLETS_RUNS": "x"\n}'],
    ["wrangler.toml", '# EDGE_SERVLETS_RUNS = "x"\nname = "see EDGE_SERVLETS_RUNS = x"'],
    ["notes.md", "EDGE_SERVLETS_RUNS=on-loopback"],
  ])("but it may be mentioned in %s: %s", async (name, text) => {
    await writeFile(join(project, name), text);
    expect(await placeOfRuns(project, {})).toBeUndefined();
  });

  test("where a link leads to it; folders and links to nothing are passed over", async () => {
    await mkdir(join(project, ".env.d"));
    await symlink("nowhere", join(project, ".env"));
    expect(await placeOfRuns(project, {})).toBeUndefined();
    await writeFile(join(project, "secrets"), "EDGE_SERVLETS_RUNS=on-loopback");
    await symlink("secrets", join(project, ".dev.vars"));
    expect(await placeOfRuns(project, {})).toBe(".dev.vars");
  });

  test("in the environment, where wrangler puts what --env-file names", async () => {
    expect(await placeOfRuns(project, { EDGE_SERVLETS_RUNS: "on-loopback" })).toBe(
      "The environment",
    );
  });

  test("a bundle is not made, and wrangler does not go on with the last one", async () => {
    await writeFile(join(project, ".dev.vars"), "EDGE_SERVLETS_RUNS=on-loopback");
    const command = resolve("src/tools/commands/bundle.ts");
    const script = `process.chdir(${JSON.stringify(project)}); await import(${JSON.stringify(pathToFileURL(command))})`;
    const variables = { WRANGLER_COMMAND: "dev" };
    const { code, stderr } = await run(process.execPath, ["-e", script], variables);
    expect(stderr).toContain(".dev.vars sets EDGE_SERVLETS_RUNS");
    expect(stderr).toContain("remove it there");
    expect(code).toBe(1);
  });
});
