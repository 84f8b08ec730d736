import { spawn, type ChildProcess } from "node:child_process";
import { createRequire } from "node:module";
import * as z from "zod";

/** Path of the program, which is the package's default export. */
const binary = z
  .object({ default: z.string() })
  .parse(createRequire(import.meta.url)("workerd")).default;

interface WorkerdOptions {
  config: string;
  /** Base folder of the paths of embedded files. */
  files: string;
  /** Permits workerd's experimental features. */
  experimental?: boolean;
  /** Port of the inspector, which is off by default. */
  inspector?: number;
  /** Environment variables for the configuration. The process gets no others, except those that name certificates. */
  variables?: Readonly<Record<string, string>>;
  /** Runs workerd in its own process group, so that a terminal's signals do not reach it. */
  ownGroup?: boolean;
  /** Called with the process id as soon as the process exists. */
  started?(pid: number): Promise<void>;
  /** Receives the output in whole lines. By default, the output goes to this process's own. */
  log?: (text: string) => void;
  /** Rewrites stderr, in whole lines, if there is no `log`. */
  errors?: (text: string) => string;
}

/** A process of workerd whose sockets listen. */
export interface Workerd {
  process: ChildProcess;
  /** The port of each socket, by its name. */
  ports: ReadonlyMap<string, number>;
}

/** Thrown if workerd ends before it listens. workerd has printed the reason. */
export class NotStarted extends Error {}

const eventSchema = z.object({ event: z.literal("listen"), socket: z.string(), port: z.number() });

/** Starts workerd; resolves when its sockets listen. Throws `NotStarted`. */
export async function startWorkerd(options: WorkerdOptions, sockets = 1): Promise<Workerd> {
  const { config, files, experimental = false, variables = {}, ownGroup = false } = options;
  const { log, errors, inspector } = options;
  const args = [
    "serve",
    "-I",
    files,
    "--control-fd=3",
    ...(experimental ? ["--experimental"] : []),
    ...(inspector === undefined ? [] : [`--inspector-addr=127.0.0.1:${inspector}`]),
  ];
  const output = log === undefined ? "inherit" : "pipe";
  const child = spawn(binary, [...args, config], {
    stdio: ["ignore", output, errors ? "pipe" : output, "pipe"],
    env: { ...certificates(), ...variables },
    detached: ownGroup,
  });
  if (ownGroup) endWithUs(child);
  let printed = "";
  if (log !== undefined) {
    for (const stream of [child.stdout!, child.stderr!]) {
      readLines(stream, (text) => {
        if (printed.length < 2000) printed += text;
        log(text);
      });
    }
  }
  if (errors !== undefined && log === undefined)
    readLines(child.stderr!, (text) => void process.stderr.write(errors(text)));
  const ports = new Map<string, number>();
  const listening = new Promise<void>((resolve, reject) => {
    child.once("error", (cause) =>
      reject(new NotStarted(`workerd cannot be run: ${cause.message}`, { cause })),
    );
    child.once("exit", (code, signal) =>
      reject(new NotStarted(`workerd ended (${signal ?? `exit code ${code}`}). ${printed}`.trim())),
    );
    readLines(child.stdio[3] as NodeJS.ReadableStream, (text) => {
      for (const line of text.trim().split("\n")) {
        const { data } = eventSchema.safeParse(JSON.parse(line));
        if (data) ports.set(data.socket, data.port);
      }
      if (ports.size === sockets) resolve();
    });
  });
  await Promise.all([listening, recordProcess(child, options)]);
  return { process: child, ports };
}

/**
 * Kills the child when this process ends, even by SIGKILL: a shell reads from a pipe that only this process holds open,
 * and kills the child at the end of the input. On Windows there is no such shell; the next start kills the child.
 */
function endWithUs(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined || process.platform === "win32") return;
  const wait = `read -r over || kill -KILL ${pid}`;
  const shell = spawn("/bin/sh", ["-c", wait], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  for (const one of [shell, shell.stdin]) one.on("error", () => {});
  shell.unref();
  child.once("exit", () => shell.stdin.end("over\n"));
}

/** Records the child for the next start. Kills it if that fails, because the next start could not find it. */
async function recordProcess(child: ChildProcess, { started }: WorkerdOptions): Promise<void> {
  try {
    if (child.pid !== undefined) await started?.(child.pid);
  } catch (cause) {
    child.kill("SIGKILL");
    throw new NotStarted(`The process of workerd cannot be recorded: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** The disk with the stored data. */
interface Disk {
  readonly isFull: boolean;
  /** Updates `isFull` now. */
  check(): void;
}

/**
 * Shortens workerd's log. A host that could not be reached gets one line instead of a stack trace. Omits messages about
 * missing classes after an exception in the Worker's global scope, which is the cause; and failed writes while the disk
 * is full.
 */
export function refusalsInPlain(disk?: Disk): (text: string) => string {
  let isStack = false;
  let hasThrown = false;
  return (text) => {
    const lines = text.split("\n").flatMap((line) => {
      if (line === "") return [line];
      hasThrown ||= /^service \S+: Uncaught /.test(line);
      if (hasThrown && /^workerd\/\S+ warning: A DurableObjectNamespace in the/.test(line))
        return [];
      const wasRefusal = isStack;
      const [, host] =
        /^workerd\/\S+ error: .* connecting to (\S+) is not allowed/.exec(line) ?? [];
      const [, unknown] =
        /^workerd\/\S+ error: .*(failed to lookup address information.*)/.exec(line) ?? [];
      const isFull = /^workerd\/\S+ error: .*database or disk is full: SQLITE_FULL/.test(line);
      if (isFull) disk?.check();
      isStack = (host ?? unknown) !== undefined || isFull;
      if (isFull)
        return disk?.isFull === true ? [] : ["[edge-servlets] The disk had no room for a write."];
      if (unknown !== undefined) return [`[edge-servlets] A host could not be reached: ${unknown}`];
      if (host === undefined) return wasRefusal && line.startsWith("stack: ") ? [] : [line];
      return [
        `[edge-servlets] A servlet could not reach ${host}, which is in a private network. To let it: --private-network`,
      ];
    });
    return lines.join("\n");
  };
}

/** Environment variables with the location of trusted certificates, if it is not the system's default. */
const certificates = () =>
  Object.fromEntries(
    ["SSL_CERT_FILE", "SSL_CERT_DIR"].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/**
 * A warning that V8's flags differ from those of workerd's build, so that workerd recompiles its own scripts. The log
 * omits it, because this takes no measurable time.
 */
const FLAGS_DIFFER =
  /^workerd\/\S+: warning: \S+ per-isolate bootstrap compile cache failed .*\n/gm;

/** Passes a stream on in whole lines. Reads it to its end, so that the process never blocks on a full pipe. */
function readLines(stream: NodeJS.ReadableStream, take: (text: string) => void): void {
  let begun = "";
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const end = text.lastIndexOf("\n") + 1;
    const lines = end > 0 ? (begun + text.slice(0, end)).replaceAll(FLAGS_DIFFER, "") : "";
    if (lines !== "") take(lines);
    begun = (end > 0 ? "" : begun) + text.slice(end);
  });
}
