import { spawn, type ChildProcess } from "node:child_process";
import { createRequire } from "node:module";
import * as z from "zod";

/** The program. The package's default export is its path. */
const binary = z
  .object({ default: z.string() })
  .parse(createRequire(import.meta.url)("workerd")).default;

interface WorkerdOptions {
  config: string;
  /** The folder that paths of embedded files are relative to. */
  files: string;
  /** Permits workerd's experimental features. */
  experimental?: boolean;
  /** The port of its inspector. Without it, the inspector is off. */
  inspector?: number;
  /** Variables for the configuration. The process has no others, apart from those that name certificates. */
  variables?: Readonly<Record<string, string>>;
  /** Runs it in its own process group, so that a terminal's signals do not reach it. */
  ownGroup?: boolean;
  /** Called with the process id as soon as the process exists. */
  started?(pid: number): Promise<void>;
  /** Receives the output of the process in whole lines. Without it, the process prints to our own output. */
  log?: (text: string) => void;
  /** Changes what it prints as errors, in whole lines, where there is no `log`. */
  errors?: (text: string) => string;
}

/** A process of workerd whose sockets listen. */
export interface Workerd {
  process: ChildProcess;
  /** The port of each socket, by its name. */
  ports: ReadonlyMap<string, number>;
}

/** Thrown if workerd ends before it listens; it has printed the reason. */
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
 * Has the process killed when this one is gone, however that ends: a shell waits at a pipe that only we hold open, and
 * kills at its end unless it was told that all is over. On Windows there is no such shell, and the next start kills it.
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

/** Records the process for the next start; ends it if that fails, because nobody would find it later. */
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
  /** Checks now whether it is full. */
  check(): void;
}

/**
 * Shortens workerd's log: one line instead of a stack for a host that was not reached; no message about a Worker's missing
 * classes after the reason, that the Worker could not be evaluated; and no failed write that found the disk full.
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

/** The variables that say where trusted certificates are, if not in the system's usual place. */
const certificates = () =>
  Object.fromEntries(
    ["SSL_CERT_FILE", "SSL_CERT_DIR"].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** A warning that V8's flags differ from those of workerd's build, so that it compiles its own scripts anew. That takes no measurable time, so the log leaves it out. */
const FLAGS_DIFFER =
  /^workerd\/\S+: warning: \S+ per-isolate bootstrap compile cache failed .*\n/gm;

/** Reads a stream to its end, so that the process never blocks on a full pipe. Passes on whole lines. */
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
