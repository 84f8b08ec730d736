/**
 * `npm start -- [OPTION…]`: serves the Worker on this machine with workerd. All data is in one folder.
 * See docs/self-hosting.md.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import { demandFree } from "../bundle/listening.ts";
import { outliveShellOfNpm } from "../bundle/npm-shell.ts";
import { Refusal } from "../bundle/refusal.ts";
import { readConfiguration, type Configuration } from "./configuration.ts";
import { DiskWatch } from "./disk.ts";
import { MAIN } from "./modules.ts";
import { exporterOf } from "./exporter.ts";
import { checkedVariables, startOptions, USAGE } from "./options.ts";
import { servicesOf, type Hosted } from "./services.ts";
import { DISK_SOCKET, socketIn, takeStorage } from "./storage.ts";
import { PLATFORM } from "./stores.ts";
import { Supervisor } from "./supervisor.ts";
import { sweepEnded } from "./sweep.ts";
import { configText } from "./workerd-config.ts";
import { NotStarted, refusalsInPlain, startWorkerd } from "./workerd.ts";

const say = (text: string) => console.error(`[edge-servlets] ${text}`);

const numberIn = (text: string, name: string, most: number): number => {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= most) return value;
  throw new Refusal(`${name} ${text} is not valid. Expected a whole number from 0 to ${most}.`);
};

/** Imports the build tools on demand, because a standalone server has none. */
async function buildInto(folder: string, configuration: Configuration): Promise<void> {
  const { buildHosted } = await import("./build.ts");
  await buildHosted(configuration, folder);
}

function reportDifferences({ rateLimits }: Configuration): void {
  if (rateLimits.length > 0)
    say(`${rateLimits.join(", ")} of [[ratelimits]] is not bound: the server counts calls itself`);
}

async function main(): Promise<void> {
  const values = startOptions();
  if (values.help) return console.log(USAGE);
  const configuration = await readConfiguration(values.config);
  if (values.build !== undefined) return buildInto(values.build, configuration);
  reportDifferences(configuration);
  const port = numberIn(values.port, "--port", 65_535);
  const graceMs = numberIn(values.grace, "--grace", 86_400) * 1000;
  const { host } = values;
  const variables = await checkedVariables(values, configuration);
  const start = async () => {
    await sweepEnded(storage.objects);
    // A server that was killed leaves its socket behind.
    await rm(diskSocket, { force: true });
    const started = await startWorkerd(workerd, knowsDisk ? 2 : 1);
    disk.restarted();
    return started;
  };
  const supervisor: Supervisor = new Supervisor({ start, say });
  const storage = await takeStorage(values.storage, supervisor.hold);
  // Check the port after `takeStorage`, which kills an orphaned workerd that may use the port.
  await demandFree(host, port);
  const diskSocket = socketIn(storage.path, DISK_SOCKET);
  const disk = new DiskWatch({ folder: storage.path, socket: diskSocket, say });
  const worker = values.worker ?? join(storage.path, "worker");
  if (values.worker === undefined) {
    await rm(worker, { recursive: true, force: true });
    await buildInto(worker, configuration);
  }
  const extra = exporterOf(variables, {
    file: join(PLATFORM, "exporter.js"),
    compatibilityDate: configuration.compatibilityDate,
  });
  // A Worker built by an earlier version lacks the entrypoint. Then a full disk is only logged.
  const script = await readFile(join(worker, MAIN), "utf8").catch(() => "");
  const knowsDisk = /export ?\{[^}]*\bDisk\b[^}]*\}/.test(script);
  const hosted: Hosted = {
    configuration,
    worker,
    variables,
    objects: storage.objects,
    host,
    port,
    // A container may have less than the machine. Without a limit, some kernels give a number beyond all memory.
    memory: Math.min(totalmem(), process.constrainedMemory() || Infinity),
    ...(knowsDisk && { diskSocket }),
    trustProxy: values["trust-proxy"],
    privateNetwork: values["private-network"],
    extra,
  };
  await writeFile(storage.config, configText(await servicesOf(hosted)));
  const workerd = {
    config: storage.config,
    files: worker,
    experimental: configuration.loaders.length > 0,
    variables,
    ownGroup: true,
    started: storage.note,
    errors: refusalsInPlain(disk),
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => stop(signal));
  }
  let isStopping = false;
  const { ports } = await supervisor.start();
  disk.start();
  const origin = `http://${host.includes(":") ? `[${host}]` : host}:${ports.get("http")}`;
  say(`serves ${origin}/mcp`);
  // The first request makes the Worker log what its configuration lacks.
  void fetch(`${origin}/health`).catch(() => {});

  function stop(signal: "SIGTERM" | "SIGINT"): void {
    if (isStopping) {
      supervisor.kill();
      process.exit(signal === "SIGINT" ? 130 : 143);
    }
    isStopping = true;
    outliveShellOfNpm();
    say("stops when the open calls have ended; another signal ends them at once");
    void supervisor.stop(graceMs).then(async (ended) => {
      if (!ended) say(`cut off what was open after ${values.grace} s`);
      await storage.release();
      process.exit();
    });
  }
}

try {
  await main();
} catch (error) {
  const why =
    (error as NodeJS.ErrnoException).code === "ENOSPC"
      ? new Refusal("The disk of the storage folder is full. Make room on it.")
      : error;
  if (!(why instanceof Refusal) && !(why instanceof NotStarted)) throw error;
  console.error(`The server was not started.\n${why.message}`);
  process.exit(1);
}
