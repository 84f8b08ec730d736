/** The globals of a servlet, for the type check of `plugins/<name>/servlet.ts`. */
type Kit = typeof import("./globals.ts");

/** The global object, as all web platforms call it. */
declare var self: typeof globalThis;
declare var console: Kit["console"];
declare var crypto: Kit["crypto"];
declare var fetch: Kit["fetch"];
declare var performance: Kit["performance"];
declare var structuredClone: Kit["structuredClone"];
declare var setTimeout: Kit["setTimeout"];
declare var setInterval: Kit["setInterval"];
declare var clearTimeout: Kit["clearTimeout"];
declare var clearInterval: Kit["clearInterval"];

declare var AbortController: Kit["AbortController"];
type AbortController = import("./globals.ts").AbortController;
declare var AbortSignal: Kit["AbortSignal"];
type AbortSignal = import("./globals.ts").AbortSignal;
declare var Headers: Kit["Headers"];
type Headers = import("./globals.ts").Headers;
declare var Request: Kit["Request"];
type Request = import("./globals.ts").Request;
declare var Response: Kit["Response"];
type Response = import("./globals.ts").Response;
declare var TextDecoder: Kit["TextDecoder"];
type TextDecoder = import("./globals.ts").TextDecoder;
declare var TextEncoder: Kit["TextEncoder"];
type TextEncoder = import("./globals.ts").TextEncoder;
declare var URL: Kit["URL"];
type URL = import("./globals.ts").URL;
declare var URLSearchParams: Kit["URLSearchParams"];
type URLSearchParams = import("./globals.ts").URLSearchParams;

/* What the engine has beyond the language. */
declare function atob(text: string): string;
declare function btoa(binary: string): string;
declare function queueMicrotask(callback: () => void): void;
declare class DOMException extends Error {
  constructor(message?: string, name?: string);
  readonly code: number;
}
