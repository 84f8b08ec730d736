/** `node-fetch` and its like: the global `fetch`. */
export const { Headers, Request, Response, FormData, Blob, AbortController } = globalThis;
export const fetch = (...given: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...given);
export default Object.assign(fetch, { Headers, Request, Response, default: fetch, fetch });

export class FetchError extends Error {
  override name = "FetchError";
}
export class AbortError extends Error {
  override name = "AbortError";
}
export const isRedirect = (code: number): boolean => [301, 302, 303, 307, 308].includes(code);
