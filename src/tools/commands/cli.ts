/** The package's command `edge-servlets`, which runs all other commands. */
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { printable } from "../../server/kernel/core/text.ts";
import { VERSION } from "../../server/kernel/core/version.ts";
import { OWN_EXTENSION } from "../bundle/own.ts";
import { asksForHelp } from "../bundle/arguments.ts";
import { endWithShellOfNpm } from "../bundle/npm-shell.ts";
import { Refusal, runCommand } from "../bundle/refusal.ts";
import { runNodeScript, wrangler } from "./wrangler.ts";

const USAGE = `edge-servlets init FOLDER       makes a project with one servlet and its test: [--template NAME]
edge-servlets dev               serves the project at http://localhost:8787/mcp, and reloads when you save
edge-servlets test              runs the tests of its servlets with vitest; each builds the servlet that it loads
edge-servlets deploy            deploys it to Cloudflare, with the arguments of wrangler deploy
edge-servlets start             serves it on this machine, without wrangler or Cloudflare
edge-servlets standalone DIR    writes a folder that serves it, for a container: see the Dockerfile
edge-servlets backup, restore   copies the data of \`start\`, even while it runs, and restores it
edge-servlets bundle            prepares its servlets; dev, deploy, start and others do this first
edge-servlets size              says how large the Worker is, without deploying it
edge-servlets features          says which parts of the server are in the Worker, why, and their sizes
edge-servlets keys …            API keys: create, list, revoke, push
edge-servlets registry …        server.json for the MCP registry, and the proof of its domain
edge-servlets passphrase        makes the passphrase with which the owner signs in
edge-servlets doctor URL        says what clients meet at a server: DNS, TLS, sign-in, streams, firewalls
edge-servlets new, renew, list, inspect, import, add, update, remove, install, versions, state, …
                                servlets: edge-servlets help servlets`;

/** Commands that write into a project, and so may not run outside one. */
const WRITING = new Set(["add", "import", "keys", "new", "renew"]);

/** Commands without a usage text of their own: `--help` prints the general one. */
const PLAIN = new Set(["bundle", "features", "passphrase", "size", "standalone"]);

const [command = "help", ...args] = process.argv.slice(2);

/** Where the Worker is built for `size`. */
const DEPLOYED = ".bundle/deploy";

/** The path of a command that is a separate script. */
const script = (name: string) => join(import.meta.dirname, name + OWN_EXTENSION);

/** Runs a script in this process, with these arguments. */
async function runHere(path: string, given: string[]): Promise<void> {
  process.argv = [process.execPath, path, ...given];
  await import(pathToFileURL(path).href);
}

endWithShellOfNpm();
await runCommand(async () => {
  process.exitCode = (await perform()) ?? process.exitCode;
});

/** Runs the command. Returns the exit code of another process; a command in this process sets `process.exitCode`. */
async function perform(): Promise<number | void> {
  if (asksForHelp(args) && PLAIN.has(command)) return console.log(USAGE);
  switch (command) {
    case "init":
      return console.log(await (await import("./init.ts")).init(args));
    case "dev":
      if (asksForHelp(args)) return wrangler(["dev", "--help"]);
      return (await import("./dev.ts")).dev(args);
    case "test":
      return runNodeScript([
        vitest(),
        "run",
        "--testTimeout=60000",
        "--hookTimeout=60000",
        ...args,
      ]);
    case "start":
    case "standalone": {
      const isMade = args.includes("--worker") || asksForHelp(args);
      if (command === "start" && !isMade && !args.includes("--build")) await demandStartable();
      return (
        (isMade ? 0 : await runNodeScript([script("bundle")])) ||
        runHere(script(`../host/${command}`), args)
      );
    }
    case "size":
      // Wrangler leaves the files of an earlier build, which would be counted.
      await rm(DEPLOYED, { recursive: true, force: true });
      return (
        (await wrangler([
          "deploy",
          "--dry-run",
          "--minify",
          `--outdir=${DEPLOYED}`,
          "--metafile",
        ])) || runHere(script("size"), [DEPLOYED])
      );
    case "features":
      return console.log((await (await import("./features.ts")).featureLines()).join("\n"));
    case "backup":
    case "restore":
      return runHere(script("../host/backup"), [command, ...args]);
    case "bundle":
    case "passphrase":
      return runHere(script(command), args);
    case "deploy":
      return (await import("./deploy.ts")).deploy(args);
    case "keys": {
      // With --secrets, the keys go into a named file, which may be outside a project.
      if (
        args.some((one) => one === "create" || one === "revoke") &&
        !args.some((one) => /^--secrets(=|$)/.test(one))
      )
        await demandProjectFor(command);
      const said = await (await import("./keys.ts")).keyCommand(args);
      return said === "" ? undefined : console.log(said);
    }
    case "registry": {
      const { registryCommand } = await import("./registry.ts");
      return console.log(await registryCommand(args));
    }
    case "--version":
    case "-v":
      return console.log(VERSION);
    case "help":
    case "--help":
    case "-h":
      return args[0] === "servlets" ? servlets(["help"]) : console.log(USAGE);
    case "servlets":
      return servlets(args);
    default:
      return servlets([command, ...args]);
  }
}

/** Checks the settings of `npm start` before the bundle step. Throws a `Refusal`; warns of misspelt variables. */
async function demandStartable(): Promise<void> {
  // Imported at run time, because the types of src/tools/host are in another TypeScript project.
  const { href } = pathToFileURL(script("../host/options"));
  const options = (await import(href)) as {
    variablesForStart(args: string[]): Promise<Record<string, string>>;
  };
  const variables = await options.variablesForStart(args);
  const { unusedAmong } = await import("./local-variables.ts");
  for (const one of await unusedAmong(variables, { isMisspelt: true }))
    console.error(`[edge-servlets] ${printable(one)}`);
}

async function servlets(given: string[]): Promise<void> {
  await demandProjectFor(given[0]);
  const { servletCommand } = await import("./servlets.ts");
  await servletCommand(given);
}

/** Throws a `Refusal` if the command writes into a project and the working directory is not one. */
async function demandProjectFor(given = ""): Promise<void> {
  if (WRITING.has(given) && !asksForHelp(args))
    (await import("./wrangler-config.ts")).demandProject();
}

/** Path of the project's vitest. */
function vitest(): string {
  const project = createRequire(resolve("package.json"));
  try {
    return join(dirname(project.resolve("vitest/package.json")), "vitest.mjs");
  } catch {
    throw new Refusal("Tests need vitest, which is not installed here: npm install -D vitest");
  }
}
