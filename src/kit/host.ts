import { inspect } from "./globals/inspect.ts";
import { jsonOrText } from "./json.ts";
import { patternAdvice } from "./patterns.ts";

/** Host functions that the interpreter's shim provides as `globalThis.__host`. Calls block the servlet. */
interface Host {
  /** The call's input, as JSON. */
  input(): string;
  output(text: string): void;
  fail(message: string): void;
  /** A function of `extism:host/user`; notifications give "". */
  call(name: string, payload: string): string;
  /** `head` is `{url, method, headers}` as JSON; gives the response's body. */
  http(head: string, body: ArrayBuffer | undefined): ArrayBuffer;
  /** `head` is an operation as JSON; gives a byte that is 0 and the answer, or 1 and `{code, message}`. */
  files(head: string, body: ArrayBuffer | undefined): ArrayBuffer;
  /** `head` is what is to be done with the bytes; gives a byte that is 0 and the answer, or 1 and `{name, message}`. */
  crypto(head: string, bytes: ArrayBuffer): ArrayBuffer;
  /** `head` is `{label, fatal, ignoreBOM, stream}`; gives a byte that is 0 and UTF-8, or 1. */
  decode(head: string, bytes: ArrayBuffer): ArrayBuffer;
  /** Decodes UTF-8. Other bytes become U+FFFD, or surrogates, in other ways than the standard says. */
  textOf(bytes: ArrayBuffer): string;
  /** Encodes a well-formed text as UTF-8. */
  bytesOf(text: string): ArrayBuffer;
  /** Of the newest response; 0 where there was none. */
  httpStatus(): number;
  /** Of the newest response: a JSON object, by lower-case name. */
  httpHeaders(): string;
  /** 0 trace, 1 debug, 2 info, 3 warn, 4 error. */
  log(level: HostLogLevel, text: string): void;
  config(key: string): string | undefined;
  random(bytes: number): ArrayBuffer;
  sleep(ms: number): void;
  /** Runs compiled code. */
  load(bytecode: ArrayBuffer): void;
  /** Runs a script in the global scope. Throws a `SyntaxError`; other errors reject the promise. */
  evaluate(script: string): Promise<{ value: unknown }>;
}

export type HostLogLevel = 0 | 1 | 2 | 3 | 4;

/** Entry points that the shim calls, as `globalThis.__servlet`. */
export interface ServletEntry {
  /** The Wasm exports that this servlet answers. */
  readonly exports: readonly string[];
  /** What it adds to its manifest. */
  readonly manifest: { views?: object; tools?: object; instructions?: string };
  /** Starts a call of an export. */
  begin(name: string): void;
  /**
   * To be called whenever no job is pending. 0: the output is set. 1: `fail` was called. 2: run the
   * jobs that are pending now, and call it again.
   */
  turn(): 0 | 1 | 2;
  /**
   * To be called when the script has run and no job is pending, while the servlet is built. 0: its description is set. 2: run
   * the jobs that are pending now, and call it again.
   */
  loaded?(): 0 | 2;
  /** Called for each promise that is rejected unhandled, and for each that is handled later. */
  rejection(promise: object, reason: unknown, handled: boolean): void;
  /** The error of the first `fetch()` at module scope, which may have been caught there. */
  misuse(): Error | undefined;
}

declare global {
  var __host: Host;
  var __servlet: ServletEntry;
}

/** None: a typed array takes the interpreter long to make. */
export const NO_WORDS = new Uint32Array(0);

/** The state of the call that runs; `begin` makes it new. */
export const running = {
  call: false,
  /** In ms since 1970. */
  startedAt: 0,
  input: {} as Record<string, unknown>,
  /** Name of the running export or tool, for messages. */
  what: "",
  /** Random numbers in stock, since the newest answer of the host. */
  words: NO_WORDS,
  /** True once it has set a timer or called a tool: most calls do neither, and have nothing to be cleared. */
  hasWaited: false,
  /** Values of headers beyond Latin-1 that servers have sent. */
  received: undefined as Set<string> | undefined,
};

/** See `ServletEntry.misuse`. */
let misuse: Error | undefined;
export const misuseAtBuild = (): Error | undefined => misuse;

/** Discards the random numbers in stock: calls that get different answers must not share them. */
function answered<T>(answer: T): T {
  running.words = NO_WORDS;
  return answer;
}

/** Host functions for handlers; module scope must not call them, because its state becomes the snapshot. */
const asking: Pick<
  Host,
  "call" | "config" | "files" | "http" | "httpHeaders" | "httpStatus" | "random" | "sleep"
> = {
  call: (name, payload) => answered(__host.call(name, payload)),
  config: (key) => answered(__host.config(key)),
  files: (head, body) => __host.files(head, body),
  http: (head, body) => answered(__host.http(head, body)),
  httpHeaders: () => __host.httpHeaders(),
  httpStatus: () => __host.httpStatus(),
  random: (bytes) => __host.random(bytes),
  sleep: (ms) => answered(__host.sleep(ms)),
};

/** The host functions whose answers differ from call to call. Throws at module scope, which runs once, at build time. */
export function hostFor(what: string): typeof asking {
  if (!running.call) {
    const error = new Error(
      `${what} works only inside a handler: module scope runs once, when the servlet is built.`,
    );
    if (what === "fetch()") misuse ??= error;
    throw error;
  }
  return asking;
}

/**
 * Calls a host function that a feature of the server adds, with JSON; `what` names it in messages. Throws an `Error` with
 * the server's reason if it fails, or if the server lacks the feature.
 */
export async function callHost(what: string, name: string, payload: unknown): Promise<unknown> {
  const asked = JSON.stringify({ name, payload });
  const answer = JSON.parse(hostFor(what).call("call_host", asked)) as
    | { result: unknown }
    | { failed: string };
  if ("failed" in answer) throw new Error(`${what}: ${answer.failed}`);
  return answer.result;
}

/** A thrown value as text for the log: an error's name, message, stack and causes. */
export const thrownText = (thrown: unknown): string =>
  thrown instanceof Error ? inspect(thrown) : messageOf(thrown);

/** Tells the host what ends the call, for the line of the log that says why it failed: see `Guest.log`. */
export const logThrown = (thrown: unknown): void => __host.log(4, `Uncaught ${thrownText(thrown)}`);

/** Advice about a global of Node or of browsers that a package has not found; undefined for other messages. */
const absence = (message: string): string | undefined =>
  /^(Buffer|Intl|WebAssembly|document|global|navigator|process|require|window) is not defined$/.test(
    message,
  )
    ? "A servlet runs neither in Node nor in a browser: docs/packages.md says which packages work"
    : undefined;

/** A thrown value as text for a caller: an error's message; of any other object its JSON. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof AggregateError) {
    const all = thrown.errors.map(messageOf).join("; ");
    return `${thrown.message || thrown.name}: ${all}`;
  }
  if (thrown instanceof Error) {
    const advice =
      thrown instanceof SyntaxError ? patternAdvice(thrown.message) : absence(thrown.message);
    return (thrown.message || thrown.name) + (advice === undefined ? "" : `. ${advice}.`);
  }
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  // oxlint-disable-next-line no-base-to-string
  if (Object.hasOwn(thrown, "toString")) return String(thrown);
  const text = jsonOrText(thrown);
  return typeof text === "string" ? text : JSON.stringify(text);
}
