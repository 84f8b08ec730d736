import { inspect } from "./globals/inspect.ts";
import { jsonOrText } from "./json.ts";
import { patternAdvice } from "./patterns.ts";

/** Host functions that the interpreter's shim provides as `globalThis.__host`. Calls block the servlet. */
interface Host {
  /** The call's input, as JSON. */
  input(): string;
  output(text: string): void;
  fail(message: string): void;
  /** Calls a function of `extism:host/user`; notifications return "". */
  call(name: string, payload: string): string;
  /** `head` is `{url, method, headers}` as JSON; returns the response's body. */
  http(head: string, body: ArrayBuffer | undefined): ArrayBuffer;
  /** `head` is an operation as JSON; returns the byte 0 and the answer, or the byte 1 and `{code, message}`. */
  files(head: string, body: ArrayBuffer | undefined): ArrayBuffer;
  /** `head` is an operation on the bytes as JSON; returns the byte 0 and the answer, or the byte 1 and `{name, message}`. */
  crypto(head: string, bytes: ArrayBuffer): ArrayBuffer;
  /** `head` is `{label, fatal, ignoreBOM, stream}` as JSON; returns the byte 0 and UTF-8, or the byte 1. */
  decode(head: string, bytes: ArrayBuffer): ArrayBuffer;
  /** Decodes UTF-8. Invalid bytes become U+FFFD or surrogates, but not as the standard requires. */
  textOf(bytes: ArrayBuffer): string;
  /** Encodes a well-formed string as UTF-8. */
  bytesOf(text: string): ArrayBuffer;
  /** Status of the latest response; 0 if the request failed. */
  httpStatus(): number;
  /** Headers of the latest response: a JSON object, by lower-case name. */
  httpHeaders(): string;
  /** 0 trace, 1 debug, 2 info, 3 warn, 4 error. */
  log(level: HostLogLevel, text: string): void;
  config(key: string): string | undefined;
  random(bytes: number): ArrayBuffer;
  sleep(ms: number): void;
  /** Runs bytecode. */
  load(bytecode: ArrayBuffer): void;
  /** Runs a script in the global scope. Throws a `SyntaxError`; other errors reject the promise. */
  evaluate(script: string): Promise<{ value: unknown }>;
}

export type HostLogLevel = 0 | 1 | 2 | 3 | 4;

/** Entry points that the shim calls, as `globalThis.__servlet`. */
export interface ServletEntry {
  /** The Wasm exports that this servlet answers. */
  readonly exports: readonly string[];
  /** Members that the servlet adds to its manifest. */
  readonly manifest: {
    views?: object;
    tools?: object;
    instructions?: string;
    schedules?: object;
    webhooks?: object;
    events?: object;
    files?: object;
  };
  /** Starts a call of an export. */
  begin(name: string): void;
  /**
   * To be called whenever no job is pending. Returns 0 if the output is set, 1 if `fail` was called, 2 if the shim must run the
   * pending jobs and call it again.
   */
  turn(): 0 | 1 | 2;
  /**
   * To be called at build time, when the script has run and no job is pending. Returns 0 if the servlet's description is set, 2
   * if the shim must run the pending jobs and call it again.
   */
  loaded?(): 0 | 2;
  /** Called when a promise is rejected without a handler, and when such a promise is handled later. */
  rejection(promise: object, reason: unknown, handled: boolean): void;
  /** The error of the first `fetch()` at module scope, even if it was caught there. */
  misuse(): Error | undefined;
}

declare global {
  var __host: Host;
  var __servlet: ServletEntry;
}

/** An empty array, shared because typed arrays are slow to make in the interpreter. */
export const NO_WORDS = new Uint32Array(0);

/** The state of the running call, reset by `begin`. */
export const running = {
  /** False at module scope. */
  call: false,
  /** Start of the call, in ms since 1970. */
  startedAt: 0,
  input: {} as Record<string, unknown>,
  /** Name of the running export or tool, for messages. */
  what: "",
  /** Random numbers fetched in advance since the host's latest answer. */
  words: NO_WORDS,
  /** True once the call has set a timer or called a tool; otherwise, as in most calls, there is nothing to clear. */
  hasWaited: false,
  /** Header values beyond Latin-1 that servers have sent. */
  received: undefined as Set<string> | undefined,
};

/** See `ServletEntry.misuse`. */
let misuse: Error | undefined;
export const misuseAtBuild = (): Error | undefined => misuse;

/** Discards the random numbers fetched in advance: calls that get different answers must not share them. */
function answered<T>(answer: T): T {
  running.words = NO_WORDS;
  return answer;
}

/** The host functions for handlers; module scope must not call them, because its state becomes the snapshot. */
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

/** The host functions for handlers. Throws at module scope, which runs at build time; `what` names the function there. */
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

/** Calls a host function of the kernel, with JSON; returns its answer, "" from notifications. */
export function tell(name: string, params?: unknown): string {
  return hostFor(name).call(name, params === undefined ? "" : JSON.stringify(params));
}

/**
 * Calls a host function of a feature of the server, with a JSON payload; `what` names the function in messages. Throws an
 * `Error` with the server's reason if the function fails or the server lacks the feature.
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

/** Logs the error that ends the call: the host's log line about the failed call contains it, see `Guest.log`. */
export const logThrown = (thrown: unknown): void => __host.log(4, `Uncaught ${thrownText(thrown)}`);

/** Advice about full memory, or about a missing global of Node or of browsers; undefined for other messages. */
function adviceAbout(message: string): string | undefined {
  if (message === "out of memory")
    return "Pass it less at once, or raise the servlet's memory_limit in its manifest";
  return /^(Buffer|Intl|WebAssembly|document|global|navigator|process|require|window) is not defined$/.test(
    message,
  )
    ? "A servlet runs neither in Node nor in a browser: docs/packages.md says which packages work"
    : undefined;
}

/** A thrown value as text for a caller: an error's message, or another object as JSON. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof AggregateError) {
    const all = thrown.errors.map(messageOf).join("; ");
    return `${thrown.message || thrown.name}: ${all}`;
  }
  if (thrown instanceof Error) {
    const advice =
      thrown instanceof SyntaxError ? patternAdvice(thrown.message) : adviceAbout(thrown.message);
    return (thrown.message || thrown.name) + (advice === undefined ? "" : `. ${advice}.`);
  }
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  // oxlint-disable-next-line no-base-to-string
  if (Object.hasOwn(thrown, "toString")) return String(thrown);
  const text = jsonOrText(thrown);
  return typeof text === "string" ? text : JSON.stringify(text);
}
