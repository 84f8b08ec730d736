import type { ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join, resolve as absolute } from "node:path";
import { buildPlatform, buildWorker } from "../../src/tools/host/build.ts";
import { exporterOf } from "../../src/tools/host/exporter.ts";
import { modulesIn } from "../../src/tools/host/modules.ts";
import { storeService, storesOf } from "../../src/tools/host/stores.ts";
import {
  configText,
  folderService,
  fromEnvironment,
  workerService,
} from "../../src/tools/host/workerd-config.ts";
import { startWorkerd } from "../../src/tools/host/workerd.ts";
import { RUNS } from "../../src/server/kernel/settings/own-names.ts";
import { OBJECTS } from "./objects.ts";

export { buildWorker };

/** Builds the Worker of the tests, and the Workers that stand in for the platform's stores. */
export async function buildTests(folder: string): Promise<string> {
  await Promise.all([buildWorker("test/worker/index.ts", folder), buildPlatform(folder)]);
  return folder;
}

/** A folder with a built Worker: `index.js` and the wasm modules that it imports. */
export interface Served {
  port: number;
  process: ChildProcess;
  /** From the start of the process to the first answer. */
  startupMs: number;
}

export interface Options {
  /** A free one where it is left out. */
  port?: number;
  /** Text bindings. */
  variables?: Record<string, string>;
  /**
   * The Worker exports the classes of the Durable Objects: they begin with nothing, or with what this
   * folder has from a process before.
   */
  durable?: true | string;
  /** The classes of these Durable Objects by the names of their bindings; ours where it is left out. */
  objects?: Record<string, string>;
  /** The folder of its assets. */
  assets?: string;
  /** As on Cloudflare: nothing says how it runs. */
  isDeployed?: boolean;
  /** Binds a Worker Loader. */
  loader?: boolean;
  /** Binds KV namespaces and buckets of these names, stored beside the objects: of a folder that `buildTests` has filled. */
  kv?: readonly string[];
  buckets?: readonly string[];
  /** Where all goes that the Worker fetches: this port of this machine, instead of the internet. */
  internet?: number;
  /** Its inspector listens on this port. */
  inspector?: number;
  /** Sends traces to where the variables say, by this script in the folder. */
  exporter?: string;
  /** Takes what the process logs, in whole lines. */
  log?: (text: string) => void;
}

/**
 * Serves a built Worker by workerd itself, on loopback: unlike `wrangler dev` and its test harness,
 * nothing stands before or behind it.
 */
export async function serve(folder: string, options: Options = {}): Promise<Served> {
  const { durable, objects = OBJECTS, assets, loader, internet, log } = options;
  // As `dev` says where only this machine can reach the server.
  const variables = { [RUNS]: "on-loopback", ...options.variables };
  if (options.isDeployed === true) delete (variables as Record<string, string>)[RUNS];
  const port = options.port ?? (await freePort());
  const { exporter, kv = [], buckets = [] } = options;
  const stores = storesOf({ kv, buckets });
  const exporting =
    exporter === undefined
      ? undefined
      : exporterOf(variables, { file: exporter, compatibilityDate });
  const services = [
    internet === undefined
      ? { name: "internet", network: { allow: ["public", "private"] } }
      : { name: "internet", external: { address: `127.0.0.1:${internet}`, http: {} } },
  ];
  const bindings = [
    ...Object.keys(variables).map(fromEnvironment),
    ...(loader === true ? [{ name: "LOADER", workerLoader: {} }] : []),
    ...(assets === undefined ? [] : [{ name: "ASSETS", service: "assets" }]),
    ...stores.map(({ name, kind, service }) => ({ name, [kind]: service })),
    ...(durable === undefined
      ? []
      : Object.entries(objects).map(([name, of]) => ({ name, durableObjectNamespace: of }))),
  ];
  if (durable === true) await rm(join(folder, `objects-${port}`), RECURSIVE);
  // In memory there is no SQL.
  const store = durable === true ? join(folder, `objects-${port}`) : durable;
  if (store !== undefined) await mkdir(store, { recursive: true });
  const main = workerService({
    name: "main",
    files: await modulesIn(folder),
    compatibilityDate,
    compatibilityFlags: ["enable_request_signal", "global_fetch_strictly_public"],
    bindings,
    ...(store !== undefined && {
      objects: Object.fromEntries(Object.values(objects).map((of) => [of, of])),
      storage: "storage",
    }),
    ...(exporting && { more: exporting.worker }),
  });
  const config = join(folder, `config-${port}.capnp`);
  await writeFile(
    config,
    configText({
      services: [
        main,
        ...services,
        ...(exporting?.services ?? []),
        ...stores.map((one) => storeService(one, compatibilityDate)),
        ...(assets === undefined ? [] : [folderService("assets", absolute(assets))]),
        ...(store === undefined ? [] : [folderService("storage", absolute(store), true)]),
      ],
      sockets: [{ name: "http", address: `127.0.0.1:${port}`, http: {}, service: "main" }],
    }),
  );
  const began = performance.now();
  const { process } = await startWorkerd({
    config,
    files: folder,
    experimental: loader === true,
    variables,
    // Its output is read, or it would stop when the pipe is full.
    log: log ?? (() => {}),
    ...(options.inspector !== undefined && { inspector: options.inspector }),
  });
  while (!(await answers(port))) await new Promise((resolve) => setTimeout(resolve, 5));
  return { port, process, startupMs: performance.now() - began };
}

const compatibilityDate = "2026-09-01";
const RECURSIVE = { recursive: true, force: true };

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write("GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    });
    socket.once("data", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.on("close", () => socket.destroy());
  });
}

// Of each worker of the tests its own, so that none takes a port that another has chosen, but does not listen on yet.
const PORTS = 4000;
let nextPort = randomInt(PORTS);

/** A port that nobody listens on, of those that no system gives to outgoing connections. */
export async function freePort(): Promise<number> {
  const worker = Number(process.env["VITEST_POOL_ID"] ?? 0) % 5;
  // `fetch` refuses 10080: https://fetch.spec.whatwg.org/#bad-port
  const port = 10_081 + worker * PORTS + (nextPort++ % PORTS);
  const isFree = await new Promise<boolean>((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
  return isFree ? port : freePort();
}

/** Ends a server at once: a signal that asks would wait for the streams that are open. */
export async function stop({ process }: Pick<Served, "process">): Promise<void> {
  const gone = new Promise((resolve) => process.once("exit", resolve));
  process.kill("SIGKILL");
  await gone;
}

/** A process whose use is asked. */
export interface Measurable {
  port?: number;
  process: { pid?: number | undefined };
}

/** A process and all that it has started, and these, as they are now. Linux alone says so. */
export async function treeOf(root: Measurable): Promise<Measurable[]> {
  const { pid } = root.process;
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  const started = children.split(" ").filter(Boolean).map(Number);
  const below = await Promise.all(started.map((one) => treeOf({ process: { pid: one } })));
  return [root, ...below.flat()];
}

/** Resident memory in MB, of which pages that processes share are counted once among them. */
export async function proportionalMB({ process }: Measurable): Promise<number> {
  const memory = await readFile(`/proc/${process.pid}/smaps_rollup`, "utf8");
  return Number(/^Pss:\s+(\d+)/m.exec(memory)?.[1]) / 1024;
}

/** Resident memory in MB. */
export async function residentMB({ process }: Measurable): Promise<number> {
  const status = await readFile(`/proc/${process.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** The length of a clock tick in /proc, in ms: `USER_HZ` is 100 on all of Linux's machines. */
const TICK_MS = 10;

/** CPU time that the process has taken, of its own and the kernel's, in ms; NaN where there is no /proc. */
export async function cpuMs({ process }: Measurable): Promise<number> {
  const stat = await readFile(`/proc/${process.pid}/stat`, "utf8").catch(() => "");
  // The name in parentheses may have spaces. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
