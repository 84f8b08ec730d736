/** The globals of a servlet, for the type check of `plugins/<name>/servlet.ts`. */
type Kit = typeof import("./globals.ts");

declare const console: Kit["console"];
declare const crypto: Kit["crypto"];
declare const fetch: Kit["fetch"];
declare const performance: Kit["performance"];
declare const structuredClone: Kit["structuredClone"];
declare const setTimeout: Kit["setTimeout"];
declare const setInterval: Kit["setInterval"];
declare const clearTimeout: Kit["clearTimeout"];
declare const clearInterval: Kit["clearInterval"];

declare const AbortController: Kit["AbortController"];
type AbortController = import("./globals.ts").AbortController;
declare const AbortSignal: Kit["AbortSignal"];
type AbortSignal = import("./globals.ts").AbortSignal;
declare const Headers: Kit["Headers"];
type Headers = import("./globals.ts").Headers;
declare const Request: Kit["Request"];
type Request = import("./globals.ts").Request;
declare const Response: Kit["Response"];
type Response = import("./globals.ts").Response;
declare const TextDecoder: Kit["TextDecoder"];
type TextDecoder = import("./globals.ts").TextDecoder;
declare const TextEncoder: Kit["TextEncoder"];
type TextEncoder = import("./globals.ts").TextEncoder;
declare const URL: Kit["URL"];
type URL = import("./globals.ts").URL;
declare const URLSearchParams: Kit["URLSearchParams"];
type URLSearchParams = import("./globals.ts").URLSearchParams;

/* What the engine has beyond the language. */
declare function atob(text: string): string;
declare function btoa(binary: string): string;
declare function queueMicrotask(callback: () => void): void;
declare class DOMException extends Error {
  constructor(message?: string, name?: string);
  readonly code: number;
}
