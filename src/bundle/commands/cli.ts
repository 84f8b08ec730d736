/** The command `edge-servlets` of the package: one entry to all commands. */
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { VERSION } from "../../version.ts";
import { OWN_EXTENSION } from "../own.ts";
import { Refusal } from "../refusal.ts";
import { init } from "./init.ts";
import { upgrade } from "./upgrade.ts";
import { run, wrangler } from "./wrangler.ts";

const USAGE = `edge-servlets init FOLDER       makes a project with one servlet and its test
edge-servlets dev               serves the project at http://localhost:8787/mcp, and again whenever you save
edge-servlets test              runs the tests of its servlets, by vitest
edge-servlets deploy            deploys it to Cloudflare, with the arguments of wrangler deploy
edge-servlets start             serves it on this machine, by workerd alone
edge-servlets standalone DIR    writes a folder that serves it, for a container: see the Dockerfile
edge-servlets backup, restore   copies what \`start\` has stored, while it runs, and puts it back
edge-servlets bundle            prepares its servlets, as dev, deploy and start do
edge-servlets upgrade           adds to wrangler.toml what this version of edge-servlets needs
edge-servlets keys …            API keys: create, list, revoke, push
edge-servlets passphrase        makes the passphrase with which the owner signs in
edge-servlets new, list, inspect, import, add, update, remove, install, versions, state, …
                                servlets: edge-servlets help servlets`;

const [command = "help", ...args] = process.argv.slice(2);

/** A command that is a script of its own. */
const script = (name: string) => join(import.meta.dirname, name + OWN_EXTENSION);

/** Runs a script in this process, with these arguments. */
async function enter(path: string, given: string[]): Promise<void> {
  process.argv = [process.execPath, path, ...given];
  await import(pathToFileURL(path).href);
}

try {
  process.exitCode = (await perform()) ?? process.exitCode;
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

/** Gives the exit code of a command that ran in a process of its own; one that runs in this process sets its own. */
async function perform(): Promise<number | void> {
  switch (command) {
    case "init":
      return console.log(await init(args));
    case "upgrade":
      return console.log(upgrade());
    case "dev":
      // Wrangler looks for what the bundle has before it runs the build command.
      return (await run([script("bundle")])) || (await wrangler(["dev", ...args]));
    case "test":
      return run([vitest(), "run", "--testTimeout=60000", "--hookTimeout=60000", ...args]);
    case "start":
    case "standalone":
      return (
        (args.includes("--worker") ? 0 : await run([script("bundle")])) ||
        enter(script(`../../host/${command}`), args)
      );
    case "backup":
    case "restore":
      return enter(script("../../host/backup"), [command, ...args]);
    case "bundle":
    case "deploy":
    case "keys":
    case "passphrase":
      return enter(script(command), args);
    case "--version":
    case "-v":
      return console.log(VERSION);
    case "help":
    case "--help":
    case "-h":
      if (args[0] === "servlets") return enter(script("servlets"), ["help"]);
      return console.log(USAGE);
    default:
      return enter(script("servlets"), [command, ...args]);
  }
}

/** The project's vitest. */
function vitest(): string {
  const project = createRequire(resolve("package.json"));
  try {
    return join(dirname(project.resolve("vitest/package.json")), "vitest.mjs");
  } catch {
    throw new Refusal("Tests need vitest, which is not installed here: npm install -D vitest");
  }
}
