/** The globals of the web platform. */
export { console } from "./globals/console.ts";
export { crypto } from "./globals/crypto.ts";
export { fetch, Request } from "./globals/fetch.ts";
export { Headers } from "./globals/headers.ts";
export { performance } from "./globals/performance.ts";
export { Response } from "./globals/response.ts";
export { TextDecoder, TextEncoder } from "./globals/text.ts";
export { clearInterval, clearTimeout, setInterval, setTimeout } from "./globals/timers.ts";
export { URL, URLSearchParams } from "./globals/url.ts";
