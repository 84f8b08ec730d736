/** Node's `process`, as far as servlets support it. */
import { running } from "../host.ts";
import { env } from "./environment.ts";

/** Set by the bundle step: the path of the servlet's entry, as its author's modules see it. */
declare const SERVLET_ENTRY: string;

type Callback = (...given: unknown[]) => void;

/** The first call of `process.exit` or `process.abort` at module scope, even if its error was caught there. */
export const exited: { how: string | undefined } = { how: undefined };

const started = performance.now();

function hrtime(before?: readonly [number, number]): [number, number] {
  const ms = performance.now() - started;
  const [seconds, nanoseconds] = [Math.floor(ms / 1000), Math.floor((ms % 1000) * 1e6)];
  if (before === undefined) return [seconds, nanoseconds];
  const elapsed = (seconds - before[0]) * 1e9 + nanoseconds - before[1];
  return [Math.floor(elapsed / 1e9), elapsed % 1e9];
}
hrtime.bigint = (): bigint => BigInt(Math.floor((performance.now() - started) * 1e6));

/** An output stream that writes lines to the server's log; an incomplete line waits for its end. */
function stream(fd: 1 | 2) {
  let rest = "";
  const write = (text: unknown): boolean => {
    const lines = (rest + String(text)).split("\n");
    rest = lines.pop()!;
    for (const line of lines) console.error(line);
    return true;
  };
  const self = {
    fd,
    isTTY: false,
    columns: 80,
    rows: 24,
    writable: true,
    write,
    end: write,
    on: () => self,
    once: () => self,
    off: () => self,
  };
  return self;
}

const nothing = (): object => process;

export const process: Record<string, unknown> & { exitCode: number | undefined } = {
  env,
  argv: ["/usr/bin/node", SERVLET_ENTRY],
  argv0: "node",
  execArgv: [] as string[],
  execPath: "/usr/bin/node",
  exitCode: undefined,
  pid: 1,
  ppid: 0,
  title: "servlet",
  platform: "linux",
  arch: "wasm32",
  version: "v22.0.0",
  versions: { node: "22.0.0" },
  release: { name: "node" },
  features: {},
  stdin: { fd: 0, isTTY: false, on: nothing, once: nothing, resume: nothing, setEncoding: nothing },
  stdout: stream(1),
  stderr: stream(2),
  cwd: () => "/",
  chdir() {},
  umask: () => 18,
  uptime: () => (performance.now() - started) / 1000,
  hrtime,
  memoryUsage: Object.assign(() => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0 }), {
    rss: () => 0,
  }),
  nextTick(callback: Callback, ...given: unknown[]) {
    queueMicrotask(() => callback(...given));
  },
  emitWarning: (warning: unknown) => console.warn(String(warning)),
  /** Listeners are ignored: no signal arrives, and an uncaught error ends the call. */
  on: nothing,
  once: nothing,
  off: nothing,
  addListener: nothing,
  removeListener: nothing,
  removeAllListeners: nothing,
  emit: () => false,
  listeners: () => [],
  prependListener: nothing,
  listenerCount: () => 0,
  setMaxListeners: nothing,
  kill: () => true,
  abort: () => exit("abort()"),
  exit: (code: unknown = process.exitCode ?? 0) => exit(`exit(${String(code)})`),
};

function exit(how: string): never {
  if (!running.call) exited.how ??= how;
  throw new Error(`The servlet called process.${how}.`);
}

export default process;
