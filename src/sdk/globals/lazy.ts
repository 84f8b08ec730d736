/**
 * Globals that few servlets use: their modules run when one is first used, so that the others have nothing of them in
 * their memory but code.
 */

import { watch } from "../json.ts";

/** esbuild makes of it a function that runs the module when it is first called. */
declare function require(module: string): unknown;

/** A module that runs when it is first asked for. Minifying takes their names from classes. */
function lazily<T extends object>(load: () => T): () => T {
  let made: T | undefined;
  return () => {
    if (made !== undefined) return made;
    made = load();
    for (const [name, value] of Object.entries(made)) if (/^[A-Z]/.test(name)) named(name, value);
    return made;
  };
}

export const modules = {
  abort: lazily(() => require("./abort") as typeof import("./abort.ts")),
  absent: lazily(() => require("./absent") as typeof import("./absent.ts")),
  blob: lazily(() => require("./blob") as typeof import("./blob.ts")),
  encodings: lazily(() => require("./encodings") as typeof import("./encodings.ts")),
  events: lazily(() => require("./events") as typeof import("./events.ts")),
  forms: lazily(() => require("./form-data") as typeof import("./form-data.ts")),
  streams: lazily(() => require("./streams") as typeof import("./streams.ts")),
  subtle: lazily(() => require("./subtle") as typeof import("./subtle.ts")),
};

/** The globals of each module. */
const NAMES = {
  abort: ["AbortController", "AbortSignal"],
  absent: ["EventSource", "SharedWorker", "WebSocket", "Worker", "XMLHttpRequest"],
  blob: ["Blob", "File"],
  events: ["CustomEvent", "ErrorEvent", "Event", "EventTarget", "MessageEvent"],
  forms: ["FormData"],
  streams: [
    "ByteLengthQueuingStrategy",
    "CountQueuingStrategy",
    "ReadableStream",
    "ReadableStreamDefaultReader",
    "TextDecoderStream",
    "TextEncoderStream",
    "TransformStream",
    "WritableStream",
  ],
  subtle: ["CryptoKey", "SubtleCrypto"],
} satisfies Partial<Record<keyof typeof modules, readonly string[]>>;

function named(name: string, value: unknown): void {
  if (typeof value !== "function") return;
  Object.defineProperty(value, "name", { value: name, configurable: true });
  const prototype: unknown = value.prototype;
  if (typeof prototype !== "object" || prototype === null) return;
  if (!("toJSON" in prototype)) watch(prototype);
  Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
}

const define = (name: string, value: unknown) =>
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });

/** Makes a global, a class with its name. */
export function provide(name: string, value: unknown): void {
  named(name, value);
  define(name, value);
}

/** Makes these globals, each when it is first used. */
export function provideLazily(): void {
  for (const [module, names] of Object.entries(NAMES) as [keyof typeof NAMES, string[]][]) {
    for (const name of names) {
      Object.defineProperty(globalThis, name, {
        get(): unknown {
          const value = (modules[module]() as unknown as Record<string, unknown>)[name];
          define(name, value);
          return value;
        },
        set(value: unknown) {
          define(name, value);
        },
        configurable: true,
      });
    }
  }
}
