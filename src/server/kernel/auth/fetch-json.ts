import { textWithin } from "../http/body.ts";
import { limits } from "../core/limits.ts";

/** Fetches a URL; replaced in tests. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The platform's `fetch`, looked up at each call: tests replace it. */
export const fetchNow: Fetch = (url, init) => globalThis.fetch(url, init);

/**
 * The JSON at a URL, of at most `most` bytes. Does not follow redirects, which could lead to an unchecked host. Throws
 * an error that names the URL.
 */
export async function fetchJson(fetch: Fetch, url: string, most: number): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: "application/json" },
    redirect: "manual",
    signal: AbortSignal.timeout(limits.issuerMs),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url} answers with status ${response.status}, not with 200`);
  }
  const text = await textWithin(response.body, most);
  if (text === undefined) throw new Error(`${url} answers with more than ${most} bytes`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${url} does not answer with JSON`);
  }
}
