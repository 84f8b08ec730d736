import { watch } from "../json.ts";

/**
 * Globals that few servlets use. Each of their modules is bytecode in base64, which the bundle step substitutes for its
 * placeholder here. It is loaded at first use: garbage collection writes to every object, and all memory that was written to is
 * stored with a state. Globals that a servlet's script mentions are loaded when the servlet is built.
 */
export const BYTECODE = {
  abort: "LAZY_abort",
  absent: "LAZY_absent",
  blob: "LAZY_blob",
  clone: "LAZY_clone",
  encodings: "LAZY_encodings",
  events: "LAZY_events",
  forms: "LAZY_forms",
  streams: "LAZY_streams",
  subtle: "LAZY_subtle",
};

interface Modules {
  abort: typeof import("./abort.ts");
  absent: typeof import("./absent.ts");
  blob: typeof import("./blob.ts");
  clone: typeof import("./clone.ts");
  encodings: typeof import("./encodings.ts");
  events: typeof import("./events.ts");
  forms: typeof import("./forms.ts");
  streams: typeof import("./streams.ts");
  subtle: typeof import("./subtle.ts");
}

declare global {
  /** The latest module that was loaded. */
  var __lazily: unknown;
}

const made: Record<string, unknown> = {};

/** The module with this name, loaded at first use; restores the names of its classes, which minification removes. */
export function lazy<Name extends keyof Modules>(name: Name): Modules[Name] {
  const known = made[name] as Modules[Name] | undefined;
  if (known !== undefined) return known;
  const bytecode = Uint8Array.fromBase64(BYTECODE[name]);
  __host.load(bytecode.buffer);
  // A snapshot would store the bytecode.
  bytecode.fill(0);
  const module = globalThis.__lazily as Modules[Name];
  Reflect.deleteProperty(globalThis, "__lazily");
  for (const [key, value] of Object.entries(module)) if (/^[A-Z]/.test(key)) named(key, value);
  made[name] = module;
  return module;
}

/** Loads these modules now. */
export function make(names: readonly (keyof Modules)[]): void {
  for (const name of names) lazy(name);
}

/** The globals of each module. */
export const NAMES = {
  abort: ["AbortController", "AbortSignal"],
  absent: ["EventSource", "SharedWorker", "WebSocket", "Worker", "XMLHttpRequest"],
  blob: ["Blob", "File"],
  clone: ["structuredClone"],
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
} satisfies Partial<Record<keyof Modules, readonly string[]>>;

function named(name: string, value: unknown): void {
  if (typeof value !== "function") return;
  Object.defineProperty(value, "name", { value: name, configurable: true });
  const prototype: unknown = value.prototype;
  if (typeof prototype !== "object" || prototype === null) return;
  if (!("toJSON" in prototype)) watch({ prototype });
  Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
}

/** Defines a global; without effect if the servlet has made it read-only. */
const define = (name: string, value: unknown) =>
  Reflect.defineProperty(globalThis, name, { value, writable: true, configurable: true });

/** Defines a global; a class gets its name. */
export function provide(name: string, value: unknown): void {
  named(name, value);
  define(name, value);
}

/** Defines the lazy globals, each loaded at first use. */
export function provideLazily(): void {
  for (const [module, names] of Object.entries(NAMES) as [keyof typeof NAMES, string[]][]) {
    for (const name of names) {
      // Getter and setter: with an argument, it sets that value.
      const access = (...given: unknown[]): unknown => {
        const value =
          given.length > 0 ? given[0] : (lazy(module) as unknown as Record<string, unknown>)[name];
        define(name, value);
        return value;
      };
      Object.defineProperty(globalThis, name, { get: access, set: access, configurable: true });
    }
  }
}
