/** The commands of `npm run servlets`: they make, list and inspect servlets, and manage their stored data. */
import { describeMissing } from "../../server/kernel/servlets/variables.ts";
import { nearest } from "../../server/kernel/core/nearest.ts";
import { printableText } from "../../server/kernel/core/text.ts";
import { catalogOf, makeBundle } from "../bundle/bundle.ts";
import { doctor, DOCTOR_USAGE } from "./doctor.ts";
import { examine, locate } from "./examine.ts";
import { currentWorkspace, type Workspace } from "./folders.ts";
import { LANGUAGE_WORDS, newServlet, renew } from "./new.ts";
import { DOCS, isInstalled } from "../bundle/own.ts";
import { argumentsIn, asksForHelp } from "../bundle/arguments.ts";
import { localVariables } from "./local-variables.ts";
import { Refusal } from "../bundle/refusal.ts";
import { IMPORT_USAGE, importConfig } from "./import.ts";
import { installs, INSTALLS_USAGE } from "./installs.ts";
import { listing, modelReport, servletReport } from "./report.ts";
import { sources, SOURCES_USAGE } from "./sources.ts";
import { state, STATE_USAGE } from "./state.ts";

const NEW_USAGE = `npm run servlets -- new NAME          makes a servlet that works, and a test of it
    --lang ${LANGUAGE_WORDS}
                                      its language; TypeScript by default
    --view                            with a page that clients show for its results
    --openapi FILE|URL                with a tool for each operation of an API's description:
                                      [--only GLOB]… [--tag TAG]…; ${DOCS}/openapi.md
    --mcp URL                         that serves another MCP server: [--only GLOB]…; [--bearer | --header NAME] for
                                      its key, [--account] for the caller's account there; ${DOCS}/remote-servers.md
    --from PATH                       of a server for the official SDK, McpAgent, mcp-handler, fastmcp or xmcp, as it is:
                                      [--dry-run]; ${DOCS}/from-mcp-sdk.md`;

const RENEW_USAGE = `npm run servlets -- renew SERVLET     takes the lists of the MCP server anew that a servlet serves, and says what has
                                      changed: [--only GLOB]…`;

const INSPECT_USAGE = `npm run servlets -- inspect SERVLET   shows all about one, also where it would be refused:
                                      its name, or the path of a .wasm file
    --as-model                        what a model sees of it, and how many tokens that takes`;

const USAGE = `${NEW_USAGE}
${RENEW_USAGE}
npm run servlets -- list              shows the servlets of the bundle and what they offer
${INSPECT_USAGE}
${IMPORT_USAGE}
${SOURCES_USAGE}
${INSTALLS_USAGE}
npm run servlets -- state …           what servlets keep on a server: state --help
${DOCTOR_USAGE}

Servlets are in plugins/, or in the folders that SERVLETS names; \`new\` takes the first.`;

/** A command of `npm run servlets`. Throws a `Refusal`. */
type Command = (args: string[], workspace: Workspace, name: string) => Promise<void>;

const printed =
  (run: (args: string[], workspace: Workspace, name: string) => Promise<string>): Command =>
  async (args, workspace, name) =>
    console.log(printableText(await run(args, workspace, name)));

/** The commands of installs, and of sources: several of one file. */
const ofInstalls = printed((args, workspace, name) => installs(name, args, workspace));
const ofSources: Command = (args, workspace, name) => sources(name, args, workspace);

/** By name. */
const COMMANDS: Readonly<Record<string, Command>> = {
  new: printed((args, { folders }) => make(args, folders)),
  renew: printed((args, { folders }) => {
    const options = { only: { type: "string", multiple: true } } as const;
    const { values, positionals } = argumentsIn(
      { args, options, allowPositionals: true },
      RENEW_USAGE,
    );
    return renew(only(positionals, "the servlet's name", RENEW_USAGE), folders, values.only);
  }),
  list,
  inspect,
  import: async (args, workspace) => console.log(await importConfig(args, workspace)),
  add: ofSources,
  update: ofSources,
  remove: ofSources,
  install: ofInstalls,
  installed: ofInstalls,
  uninstall: ofInstalls,
  versions: ofInstalls,
  publish: ofInstalls,
  unpublish: ofInstalls,
  replay: ofInstalls,
  rollback: ofInstalls,
  state: async (args) =>
    console.log(args.length === 0 || args[0] === "--help" ? STATE_USAGE : await state(args)),
  doctor: (args) => doctor(args),
};

/** Runs one of the commands. Sets `process.exitCode` if `inspect` finds a refused servlet. Throws a `Refusal`. */
export async function servletCommand([name = "help", ...args]: string[]): Promise<void> {
  // The other commands have their own usage text.
  const asks = ["inspect", "list"].includes(name) && asksForHelp(args);
  if (asks || ["help", "--help", "-h"].includes(name)) return console.log(USAGE);
  if (Object.hasOwn(COMMANDS, name)) return COMMANDS[name]!(args, currentWorkspace(), name);
  const meant = nearest(name, Object.keys(COMMANDS));
  const all = isInstalled ? "npx edge-servlets help" : "npm run servlets";
  throw new Refusal(
    `There is no command ${name}.${meant ? ` Did you mean ${meant}?` : ""} For all commands: ${all}`,
  );
}

async function list(args: string[], workspace: Workspace): Promise<void> {
  if (args.length > 0) throw new Refusal("list takes nothing more: it shows all servlets");
  const members = await makeBundle(workspace);
  console.log(listing(members.map((member) => [member, catalogOf([member]).lists])));
}

async function inspect(args: string[], workspace: Workspace): Promise<void> {
  const isForModel = args.includes("--as-model");
  const named = args.filter((one) => one !== "--as-model");
  const what = only(named, "a servlet's name or the path of a .wasm file", INSPECT_USAGE);
  const found = await locate(what, workspace);
  const examined = await examine(found, workspace);
  const has = await localVariables();
  const missing = describeMissing([examined.found], (name) => has.has(name));
  const warnings = [...examined.warnings, ...(missing === undefined ? [] : [missing])];
  console.log((isForModel ? modelReport : servletReport)({ ...examined, warnings }));
  if (examined.refusal !== undefined) process.exitCode = 1;
}

/** Runs the command `new`. Throws a `Refusal`. */
function make(args: string[], folders: readonly [string, ...string[]]): Promise<string> {
  const options = {
    lang: { type: "string" },
    view: { type: "boolean" },
    openapi: { type: "string" },
    mcp: { type: "string" },
    bearer: { type: "boolean" },
    account: { type: "boolean" },
    header: { type: "string" },
    from: { type: "string" },
    "dry-run": { type: "boolean" },
    only: { type: "string", multiple: true },
    tag: { type: "string", multiple: true },
  } as const;
  const { values, positionals } = argumentsIn({ args, options, allowPositionals: true }, NEW_USAGE);
  const { "dry-run": dryRun, ...chosen } = values;
  const name = only(positionals, "the servlet's name", NEW_USAGE);
  return newServlet(name, folders, { ...chosen, dryRun });
}

function only([first, ...others]: string[], what: string, usage: string): string {
  if (first !== undefined && others.length === 0) return first;
  throw new Refusal(`Give ${what}, and nothing more.\n\n${usage}`);
}
