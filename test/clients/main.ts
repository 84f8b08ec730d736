/**
 * `npm run clients`: real MCP clients against this server, each by a program of its own in its own language.
 * A client whose toolchain is not here is skipped by name.
 */
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { limits } from "../../src/server/features/sessions/limits.ts";
import { document, type Row } from "./document.ts";
import { startServers } from "./servers.ts";
import { CLIENTS, type Client } from "./table.ts";
import { THINGS, type Thing } from "./things.ts";
import { install, missingTool, Unavailable } from "./toolchains.ts";
import { witness } from "./witness.ts";

const { values } = parseArgs({
  options: {
    /** Names of clients, with commas between; a revision may follow, as in `go-sdk@2025-11-25`. */
    only: { type: "string" },
    stay: { type: "string", default: "0.05" },
    /** Writes the lines of these clients in docs/clients.md. */
    write: { type: "boolean", default: false },
    /** Installs, and runs nothing. */
    install: { type: "boolean", default: false },
    /** `start`: the servers run as people host them themselves; `dev`, by wrangler. */
    server: { type: "string", default: "dev" },
    /** Shows each message. */
    trace: { type: "boolean", default: false },
  },
});
const { server: kind } = values;
if (kind !== "dev" && kind !== "start") {
  console.error(`--server ${kind} is neither dev nor start.`);
  process.exit(1);
}
const staySeconds = Number(values.stay) * 60;
/** How long a client may stay away that was silent for so long, and some seconds for the way. */
const patienceSeconds = Math.ceil(Math.min(staySeconds / 4, limits.maxRetryMs / 1000)) + 15;
/** The longest that a program takes beside its stay. */
const PROGRAM_MS = 8 * 60_000;
/** The longest that a line of a server's log is on its way. */
const LOG_MS = 5000;

const wanted = values.only?.split(",");
const isWanted = (name: string, revision?: string) =>
  wanted === undefined ||
  wanted.some((one) => one === name || one === `${name}@${revision ?? one.split("@")[1]}`);

const rows: Row[] = [];
const clients = CLIENTS.filter(({ name }) => isWanted(name));
const ready: { client: Client; command: readonly string[] }[] = [];
for (const client of clients) {
  const missing = missingTool(client);
  if (missing !== undefined) console.log(`${client.name} is skipped: there is no ${missing}.`);
  else {
    try {
      ready.push({ client, command: await install(client) });
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      console.log(`${client.name} is skipped: it could not be fetched. ${error.message}`);
    }
  }
}
if (values.install) process.exit(0);
const servers = await startServers(kind);
try {
  for (const { client, command } of ready) {
    for (const revision of client.revisions.filter((one) => isWanted(client.name, one))) {
      const cells = await play(revision, command);
      rows.push({ client, revision, cells });
      console.log(
        JSON.stringify({ client: client.name, version: client.version, revision, ...cells }),
      );
    }
  }
} finally {
  await servers.close();
}
const PAGE = "docs/clients.md";
if (values.write) await writeFile(PAGE, document(rows, values.stay, await readFile(PAGE, "utf8")));
const failures = rows.flatMap(({ client, revision, cells }) =>
  Object.entries(cells)
    .filter(
      ([thing, cell]) => cell.startsWith("failed") && !isUpstream(client, revision, thing as Thing),
    )
    .map(([thing, cell]) => `${client.name} ${revision}, ${thing}: ${cell}`),
);
for (const failure of failures) console.log(failure);
process.exit(failures.length === 0 ? 0 : 1);

function isUpstream({ upstream = {} }: Client, revision: string, thing: Thing): boolean {
  return (upstream[`${thing}@${revision}`] ?? upstream[thing]) !== undefined;
}

/** Runs a client's program; its last line has the cells. */
async function play(revision: string, command: readonly string[]): Promise<Row["cells"]> {
  const { openPort: port, signedUrl, key, passphrase, teamUrl } = servers;
  const member = servers.join();
  const { origin } = new URL(teamUrl);
  const browse = (page: string) =>
    page.startsWith(origin) ? member.signIn(page) : servers.signIn(page);
  const log = values.trace ? (line: string) => console.error(line) : undefined;
  const seen = await witness({ port, browse, ...(log && { log }) });
  const environment = {
    ...process.env,
    CLIENT_URL: `${seen.url}/mcp`,
    CLIENT_CONTROL: `${seen.url}/control`,
    CLIENT_REVISION: revision,
    CLIENT_THINGS: Object.keys(THINGS)
      .filter((thing) => thing !== "wire")
      .join(","),
    CLIENT_SIGNED_URL: signedUrl,
    CLIENT_KEY: key,
    CLIENT_PASSPHRASE: passphrase,
    CLIENT_TEAM_URL: teamUrl,
    CLIENT_LOGIN: member.login,
    CLIENT_STAY_SECONDS: String(staySeconds),
    CLIENT_PATIENCE_SECONDS: String(patienceSeconds),
  };
  try {
    const { output, errors } = await runProgram(command, environment);
    const cells: Row["cells"] = readCells(output, errors);
    if (cells.team === "ok" && !(await within(LOG_MS, () => servers.hasGreeted(member))))
      cells.team = `failed: the server knows of no call by ${member.principal}`;
    const faults = [...seen.faults];
    cells.wire =
      faults.length > 0
        ? `failed: ${faults.join("; ")}`
        : seen.count() > 0
          ? "ok"
          : "failed: silent";
    return cells;
  } finally {
    seen.close();
  }
}

async function within(ms: number, holds: () => boolean): Promise<boolean> {
  for (const end = Date.now() + ms; Date.now() < end; await pause(50)) if (holds()) return true;
  return holds();
}

async function runProgram(
  [program, ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ output: string; errors: string }> {
  const child = spawn(program!, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const timer = setTimeout(
    () => child.kill("SIGKILL"),
    PROGRAM_MS + (staySeconds + 4 * patienceSeconds) * 1000,
  );
  await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(timer);
  if (values.trace) console.error(errors);
  return { output, errors };
}

function readCells(output: string, errors: string): Row["cells"] {
  const line = output.trim().split("\n").at(-1) ?? "";
  try {
    const cells = JSON.parse(line) as Row["cells"];
    const missing = Object.keys(THINGS).filter((thing) => thing !== "wire" && !(thing in cells));
    return {
      ...cells,
      ...Object.fromEntries(
        missing.map((thing) => [thing, "failed: the program did not get there"]),
      ),
    };
  } catch {
    return { connect: `failed: the program printed no cells: ${errors.trim().slice(-500)}` };
  }
}
