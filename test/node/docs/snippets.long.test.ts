import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parse } from "smol-toml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { checkProfiles, readProfiles } from "../../../src/tools/bundle/profiles.ts";
import type { Profile } from "../../../src/server/kernel/servlets/profiles.ts";
import { manifestSchema } from "../../../src/server/kernel/servlets/manifest.ts";
import { loadServlet } from "../../../src/tools/testing/index.ts";
import { buildWorker, serve, stop, type Served } from "../workerd.ts";
import { readPage, type Block, type Page } from "./pages.ts";
import { readSettings } from "./reference.ts";
import { copyOfProject, expectedOf, place, runShell } from "./shell.ts";

/**
 * Runs every block of the documents. The shell lines of a page run from top to bottom in one shell, against a
 * server that anybody may call (`http://localhost:8787`) and one that requires authentication
 * (`https://edge-servlets.YOUR-NAME.workers.dev`). A line `# → text` says what was to be printed.
 */
const KEY = "esk_documents";
const OPERATOR_KEY = "esk_operator_of_documents";
const OTC_SECRET = "0123456789abcdef".repeat(4);
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const SECURED = {
  API_KEYS: JSON.stringify({
    docs: sha256(KEY),
    operator: { hash: sha256(OPERATOR_KEY), scopes: ["operator"] },
  }),
  OTC_JWT_SECRET: OTC_SECRET,
};

const startSource = await readFile("src/tools/host/options.ts", "utf8");
await mkdir(".bundle", { recursive: true });
const FOLDER = await mkdtemp(".bundle/docs-");
let servers: [open: Served, secured: Served];
/** The logs of the servers. */
let log = "";

beforeAll(async () => {
  const worker = await buildWorker(await entryWithProfiles(), join(FOLDER, "worker"));
  const start = (variables: Record<string, string>) =>
    serve(worker, { variables, durable: true, log: (text) => (log += text) });
  servers = [await start({ RUN_LOG: "json" }), await start(SECURED)];
});
afterAll(async () => {
  await Promise.all(servers.map(stop));
  await rm(FOLDER, { recursive: true, force: true });
});

/** The Worker of the project, with the profiles of their page. */
async function entryWithProfiles(): Promise<string> {
  const { blocks } = await readPage("docs/profiles.md");
  const members = await makeBundle({
    folders: ["plugins"],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  });
  const all: Record<string, Profile> = {};
  for (const block of blocks.filter((one) => one.file === "profiles.json")) {
    await place(FOLDER, block);
    const file = (await readProfiles(FOLDER))!;
    expect(checkProfiles(file, members, undefined)).toEqual([]);
    Object.assign(all, file.profiles);
  }
  // Other pages show what the whole server lists.
  const { "": _, ...profiles } = all;
  const entry = `import { bundle } from "../../src/bundle.gen.ts";
import { features } from "../../test/all-features.ts";
import { createWorker } from "../../src/server/worker.ts";
const profiles = ${JSON.stringify(profiles)};
const { worker, objects } = createWorker({ ...bundle, profiles, features });
export const { Attempts, CallRecord, Events, Grant, Hub, Installs, KeyRecords } = objects;
export const { KeyRing, Profile, Quota, Schedules, ServletState, Session, States } = objects;
export const { Task, Usage } = objects;
export default worker;
`;
  await writeFile(join(FOLDER, "index.ts"), entry);
  return join(FOLDER, "index.ts");
}

/** The text with the URLs of the test's servers. */
const atServers = (text: string): string =>
  text
    // Without a key, only `wrangler dev` can tell that who operates it is on this machine.
    .replaceAll("--to http://localhost:8787", `--to http://127.0.0.1:${servers[1].port}`)
    .replaceAll("http://localhost:8787", `http://127.0.0.1:${servers[0].port}`)
    .replaceAll(
      "https://edge-servlets.YOUR-NAME.workers.dev",
      `http://127.0.0.1:${servers[1].port}`,
    );

const at = ({ text, ...block }: Block): Block => ({ ...block, text: atServers(text) });

/** The lines with longer waits, for a busy machine: `sleep 1` and the time limits of curl. */
const patient = (script: string): string =>
  script.replace(
    /\b(sleep|curl -sN -m|session -m) (\d+)/g,
    (_, waits, seconds) => `${waits} ${10 * Number(seconds)}`,
  );

/** Runs shell lines, and gives what they say to print and do not, with what they print. */
async function missingIn(copy: string, lines: readonly string[]): Promise<string[]> {
  const script = atServers(lines.join("\n"));
  const missing = await missingOf(copy, script);
  return missing.length > 0 && patient(script) !== script
    ? missingOf(copy, patient(script))
    : missing;
}

async function missingOf(copy: string, script: string): Promise<string[]> {
  const printed = await runShell(copy, script, {
    KEY,
    OTC_SECRET,
    EDGE_SERVLETS_KEY: OPERATOR_KEY,
  });
  let from = 0;
  for (const part of expectedOf(script).flatMap((expected) => expected.split(" … "))) {
    const found = printed.indexOf(part, from);
    if (found < 0) return [part, printed.slice(from)];
    from = found + part.length;
  }
  return [];
}

/** By the file's name: throws where the content is not valid. */
const FORMATS: Record<string, (text: string) => void> = {
  "mcp.json": (text) => {
    const all = JSON.parse(text) as Record<string, Record<string, { url: string }> | undefined>;
    const entries = Object.values({ ...all["servers"], ...all["mcpServers"] });
    for (const { url } of entries) {
      if (url !== "https://edge-servlets.YOUR-NAME.workers.dev/mcp") throw new Error(url);
    }
    if (entries.length === 0) throw new Error("no servers");
  },
  "servlet.json": (text) => void manifestSchema().parse(JSON.parse(text)),
  ".dev.vars": (text) => {
    const lines = text
      .trim()
      .split("\n")
      .map((line) => /^(\w+)=(['"]?)(.*)\2$/.exec(line)!);
    readSettings(Object.fromEntries(lines.map(([, name, , value]) => [name, value])));
  },
  "wrangler.toml": (text) => void parse(text),
  // The servers have them: they were read as those of a project.
  "profiles.json": (text) => void JSON.parse(text),
  // Options of `start`, and sections of systemd.
  "edge-servlets.service": (text) => {
    for (const [option] of text.matchAll(/--[a-z-]+/g)) {
      if (!startSource.includes(option)) throw new Error(option);
    }
    if (!text.startsWith("[Service]\nExecStart=")) throw new Error("no service");
  },
  "": (text) => void JSON.parse(text),
};

/** Builds servlets of a page together; gives how many each offers, by name. */
async function offersOf(folders: string[]): Promise<Record<string, number>> {
  const members = await makeBundle({
    folders,
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
    optimise: false,
  });
  return Object.fromEntries(
    members.map(({ found: { name, manifest }, lists }) => [
      name,
      lists!.tools.length + lists!.resources.length + Object.keys(manifest.webhooks ?? {}).length,
    ]),
  );
}

/** A servlet whose tools run the bodies of handlers. */
function servletOf(bodies: readonly Block[]): string {
  const imports = bodies.flatMap(({ text }) => text.match(/^import .*\n/gm) ?? []);
  const names = imports.flatMap((line) => /\{ (.*) \}/.exec(line)![1]!.split(", "));
  const kit = ["defineServlet", ...new Set(names)].join(", ");
  const tools = bodies.map(
    ({ text }, number) =>
      `tool_${number}: { description: "", async handler(args, context) {\nvoid args; void context;\n${text.replaceAll(/^import .*\n/gm, "")}} },`,
  );
  return `import { ${kit} } from "edge-servlets/servlet";\nexport default defineServlet({ tools: {\n${tools.join("\n")}\n} });\n`;
}

/** The answer to a form of one value without a name. */
function valueIn(form: unknown): object {
  const { requestedSchema } = form as {
    requestedSchema?: { properties: Record<string, { enum?: unknown[] }> };
  };
  const value = requestedSchema?.properties["value"];
  return value === undefined ? {} : { value: value.enum?.[0] ?? 3 };
}

/** A servlet in Python whose tools run the bodies of handlers. */
function pythonServletOf(bodies: readonly Block[]): string {
  const tools = bodies.map(
    ({ text }, number) =>
      `@tool\nasync def tool_${number}(ctx: Context):\n${text.replaceAll(/^(?=.)/gm, "    ")}`,
  );
  return `from edge_servlets import Context, ToolError, fetch, tool\n\n${tools.join("\n")}`;
}

const PAGES = await Promise.all(
  [
    "README.md",
    "docs/access.md",
    "docs/accounts.md",
    "docs/calling-servlets.md",
    "docs/configuration.md",
    "docs/deploying.md",
    "docs/events.md",
    "docs/files.md",
    "docs/hyper-mcp.md",
    "docs/installing.md",
    "docs/manifest.md",
    "docs/open-tool-calling.md",
    "docs/openapi.md",
    "docs/operating.md",
    "docs/packages.md",
    "docs/profiles.md",
    "docs/projects.md",
    "docs/python.md",
    "docs/remote-servers.md",
    "docs/self-hosting.md",
    "docs/sources.md",
    "docs/state.md",
    "docs/views.md",
    "docs/waiting-calls.md",
    "docs/watching.md",
    "docs/webhooks.md",
    "docs/writing-servlets.md",
    "CONTRIBUTING.md",
  ].map(readPage),
);

describe.each(PAGES)("$path", async ({ path, blocks }: Page) => {
  const of = (...languages: string[]) =>
    blocks.filter(({ language }) => languages.includes(language));
  const folder = await copyOfProject(join(FOLDER, basename(path, ".md")));

  test("has no block that nobody runs", () => {
    const known = of(
      "sh",
      "ts",
      "python",
      "text",
      "tsx",
      "css",
      "js",
      "c",
      "json",
      "yaml",
      "ini",
      "toml",
      "mermaid",
    );
    expect(blocks.filter((block) => !known.includes(block))).toEqual([]);
    expect(of("ts", "js", "python", "text").filter(({ file }) => file === "")).toEqual([]);
  });

  test.runIf(of("json", "ini", "toml").length > 0)("its files are valid", () => {
    for (const { file, text } of of("json", "ini", "toml")) {
      expect(() => FORMATS[basename(file)]!(text)).not.toThrow();
    }
  });

  test.runIf(path === "docs/operating.md")("its log line is like those of the server", async () => {
    const greet =
      'curl -s -H \'content-type: application/json\' -d \'{"request":{"tool_id":"hello.greet","input":{"name":"Ada"}}}\' http://localhost:8787/tools/call';
    await missingIn(folder, [greet]);
    await expect.poll(() => log).toContain('"servlet":"hello"');
    const line = JSON.parse(/\{.*"servlet":"hello".*\}/.exec(log)![0]) as object;
    const [shown] = of("json").map(({ text }) => JSON.parse(text) as object);
    expect(Object.keys(shown!).toSorted()).toEqual(
      Object.keys({ protocol: "", ...line }).toSorted(),
    );
  });

  test.runIf(of("sh").length > 0)("its shell lines do what it says", async () => {
    for (const block of of("js", "yaml")) await place(folder, at(block));
    const lines = of("sh").map(({ text }) => text);
    expect(await missingIn(folder, lines)).toEqual([]);
  });

  // The entry file of docs/projects.md is tested with the packed package.
  const files = of("ts", "c", "python").filter(({ file }) => file.startsWith("plugins/"));
  describe.runIf(files.length > 0)("its servlets", async () => {
    const copy = await copyOfProject(join(FOLDER, `servlets-${basename(path, ".md")}`));
    const manifests = of("json").filter(({ file }) => file.endsWith("/servlet.json"));
    for (const { text, ...block } of [...files, ...manifests, ...of("tsx", "css", "text")]) {
      // Tests run here, and not in the folder of the project.
      const there = text.replaceAll('loadServlet("', `loadServlet("${copy}/`);
      await place(copy, { ...block, text: there });
    }

    test("are built", async () => {
      const folders = files
        .filter(({ file }) => /\/servlet\.(ts|c|py)$/.test(file))
        .map(({ file }) => join(copy, dirname(file)));
      const offers = await offersOf([...new Set(folders)]);
      expect(Object.keys(offers)).toHaveLength(new Set(folders).size);
      expect(Object.values(offers)).not.toContain(0);
    });

    const tests = files.map(({ file }) => file).filter((file) => file.endsWith(".test.ts"));
    describe.each(tests)("%s", async (file) => {
      await import(join(copy, file));
    });
  });

  const scripts = of("js").filter(({ file }) => file === "in run_code");
  test.runIf(scripts.length > 0)("its scripts run", async () => {
    const code = await loadServlet("plugins/code");
    const tools = {
      search_notes: { structuredContent: { notes: [{ id: 1 }, { id: 2 }] } },
      delete_note: "Deleted.",
    };
    const answers = { "elicitation/create": () => ({ action: "accept", content: {} }) };
    const script = { tools, answers, capabilities: { elicitation: {} } };
    for (const { text } of scripts) {
      const { result } = await code.callTool("run_code", { code: text }, script);
      expect(result).not.toHaveProperty("isError");
    }
  });

  const bodies = of("ts", "python").filter(({ file }) => file === "in a handler");
  test.runIf(bodies.length > 0)("its handlers run", async () => {
    const [file, source] = bodies.some(({ language }) => language === "python")
      ? ["servlet.py", pythonServletOf(bodies)]
      : ["servlet.ts", servletOf(bodies)];
    await place(folder, { ...bodies[0]!, file: `plugins/handlers/${file}`, text: source });
    const manifest = JSON.stringify({
      allowed_hosts: ["api.example.com"],
      env_vars: { region: "eu" },
      allowed_secrets: [{ service: "database", user: "reader" }],
    });
    await place(folder, { ...bodies[0]!, file: "plugins/handlers/servlet.json", text: manifest });
    const handlers = await loadServlet(join(folder, "plugins/handlers"));
    for (const [number, { section, text }] of bodies.entries()) {
      const { result } = await handlers.callTool(
        `tool_${number}`,
        {},
        {
          variables: { DATABASE_READER: "secret" },
          caller: "ada",
          secrets: { deepl: "secret" },
          capabilities: { elicitation: {}, sampling: {}, roots: {} },
          fetch: () => Response.json({ ok: true }),
          hostFunctions: {
            "webhooks.url": () => "https://edge-servlets.example.com/hooks/handlers/github/token",
            "webhooks.revoke": () => false,
          },
          answers: {
            "elicitation/create": (form) => ({
              action: "accept",
              content: { colour: "red", name: "Ada", ...valueIn(form) },
            }),
            "sampling/createMessage": () => ({
              role: "assistant",
              model: "test",
              content: { type: "text", text: "Bonjour" },
            }),
            "roots/list": () => ({ roots: [{ uri: "file:///home/ada" }] }),
          },
        },
      );
      expect({ section, ...result }).not.toHaveProperty("isError", true);
      expect({ section, isEmpty: result.content.length === 0 }).toEqual({
        section,
        isEmpty: text.endsWith("return null;\n"),
      });
    }
  });
});
