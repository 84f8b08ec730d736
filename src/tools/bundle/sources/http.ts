/** HTTP requests for sources, with limits of time (`limits.sourceMs`, `limits.sourceIdleMs`) and size. */
import dns from "node:dns";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { callbackify } from "node:util";
import { limits } from "../limits.ts";
import { isLoopback, isPrivate } from "../../../server/kernel/http/private-hosts.ts";
import { Refusal } from "../refusal.ts";

/** A GET request, or a POST request if there is a form. */
interface SourceRequest {
  headers?: Record<string, string>;
  /** Headers for the first URL's origin only, until a redirect leaves it; with `from`, until the first redirect. */
  credentials?: Record<string, string>;
  /**
   * The URL whose response named this one, such as a registry that names its token service. The request then has the
   * restrictions of a redirect from there.
   */
  from?: URL;
  /** A form to post, which goes to the same URLs as `credentials`. */
  form?: URLSearchParams;
  /** Maximum size of the response body. */
  maxBytes: number;
}

export interface SourceResponse {
  /** The final URL, after redirects. */
  url: URL;
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer<ArrayBuffer>;
}

/** The kind of a request's first address: redirects may not lead to a more private one. */
interface AddressKind {
  isLoopback: boolean;
  isPrivate: boolean;
}

const REDIRECTS = 5;

/** A URL for messages: without its query, which may contain a signature. */
export const withoutQuery = ({ origin, pathname }: URL): string => `${origin}${pathname}`;

/**
 * Makes a request and follows redirects, only to https (or http on this machine), and to private networks only if the
 * first URL is in one. Returns the response with any status. Throws a `Refusal` that names the URL without its query.
 */
export async function requestSource(first: URL, wanted: SourceRequest): Promise<SourceResponse> {
  const { hostname } = wanted.from ?? first;
  const origin = {
    isLoopback: isLoopback(hostname),
    isPrivate: await isInPrivateNetwork(hostname),
  };
  if (isPrivate(first.hostname) && !origin.isPrivate) {
    throw privateTarget(withoutQuery(wanted.from ?? first), first.hostname);
  }
  if (first.protocol !== "https:" && !(first.protocol === "http:" && origin.isLoopback)) {
    throw new Refusal(`${withoutQuery(first)}: it is not encrypted: use https`);
  }
  const signal = AbortSignal.timeout(limits.sourceMs);
  let url = first;
  let { credentials, form } = wanted;
  for (let hops = 0; hops <= REDIRECTS; hops++) {
    // Drop the login at any redirect of a token service: the registry named its URL, which could redirect to a request
    // for another scope.
    const isRedirected = hops > 0 && (wanted.from !== undefined || url.origin !== first.origin);
    if (isRedirected) credentials = form = undefined;
    const { maxBytes } = wanted;
    const headers = { ...wanted.headers, ...credentials };
    const asked = { headers, maxBytes, ...(form && { form }) };
    const got = await sendOnce(url, asked, signal, lookupFor(origin));
    const { location } = got.headers;
    if (got.status < 301 || got.status > 308 || location === undefined) return got;
    url = redirected(location, url, origin);
  }
  throw new Refusal(`${withoutQuery(first)}: it was redirected more than ${REDIRECTS} times`);
}

/** The target of a redirect. Throws a `Refusal` if it must not be followed. */
export function redirected(location: string, from: URL, origin: AddressKind): URL {
  const url = URL.canParse(location, from) ? new URL(location, from) : undefined;
  const mayBePlain = origin.isLoopback && url !== undefined && isLoopback(url.hostname);
  if (
    url === undefined ||
    (url.protocol !== "https:" && !(url.protocol === "http:" && mayBePlain))
  ) {
    throw new Refusal(
      `${withoutQuery(from)}: it redirects to ${url === undefined ? "no URL" : withoutQuery(url)}, and only https is followed`,
    );
  }
  if (isPrivate(url.hostname) && !origin.isPrivate)
    throw privateTarget(withoutQuery(from), url.hostname);
  return url;
}

const privateTarget = (from: string, to: string) =>
  new Refusal(`${from}: it leads to ${to}, which is in a private network: it is not followed`);

const resolved = new Map<string, Promise<dns.LookupAddress[]>>();

/** The addresses of a host, resolved once, so that they cannot change after the check (DNS rebinding). */
function addressesOf(host: string): Promise<dns.LookupAddress[]> {
  return resolved.getOrInsertComputed(host, () => {
    const found = dns.promises.lookup(host, { all: true });
    found.catch(() => resolved.delete(host));
    return found;
  });
}

/** True if a host is in a private network, according to its name or all of its addresses. */
async function isInPrivateNetwork(host: string): Promise<boolean> {
  if (isPrivate(host)) return true;
  const addresses = await addressesOf(host).catch(() => []);
  return addresses.length > 0 && addresses.every(({ address }) => isPrivate(address));
}

/** Resolves names. Refuses names with a private address, unless the origin is also in a private network. */
export const lookupFor =
  (origin: Pick<AddressKind, "isPrivate">): LookupFunction =>
  (host, { all }, callback) =>
    callbackify(addressesOf)(host, (error, addresses) => {
      if (error !== null) callback(error, "", 0);
      else if (!origin.isPrivate && addresses.some(({ address }) => isPrivate(address))) {
        callback(privateTarget("the source", host), "", 0);
      } else if (all === true) callback(null, addresses);
      else callback(null, addresses[0]!.address, addresses[0]!.family);
    });

/** Makes one request, without following a redirect. */
function sendOnce(
  url: URL,
  { headers, form, maxBytes }: SourceRequest,
  signal: AbortSignal,
  lookup: LookupFunction,
): Promise<SourceResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<SourceResponse>();
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const fail = (why: string) => reject(new Refusal(`${withoutQuery(url)}: ${why}`));
  const seconds = (ms: number) => `${ms / 1000} s`;
  const sent = send(url, {
    method: form === undefined ? "GET" : "POST",
    headers: {
      "user-agent": "edge-servlets",
      "accept-encoding": "identity",
      ...(form && { "content-type": "application/x-www-form-urlencoded" }),
      ...headers,
    },
    lookup,
    signal,
    timeout: limits.sourceIdleMs,
  });
  sent.on("timeout", () => {
    fail(`no data has arrived for ${seconds(limits.sourceIdleMs)}: try again later`);
    sent.destroy();
  });
  sent.on("error", (error) => {
    if (signal.aborted) fail(`it takes longer than ${seconds(limits.sourceMs)}: try again later`);
    else if (error instanceof Refusal) reject(error);
    else fail(`it could not be reached: ${error.message}`);
  });
  sent.on("response", (response) => {
    const tooLarge = () => {
      fail(`it is larger than ${maxBytes} bytes, which is the limit`);
      sent.destroy();
    };
    if (Number(response.headers["content-length"]) > maxBytes) return tooLarge();
    const parts: Buffer[] = [];
    let bytes = 0;
    response.on("data", (part: Buffer) => {
      parts.push(part);
      bytes += part.length;
      if (bytes > maxBytes) tooLarge();
    });
    response.on("error", (error) => {
      if (signal.aborted) fail(`it takes longer than ${seconds(limits.sourceMs)}: try again later`);
      else fail(`its answer was cut off after ${bytes} bytes: ${error.message}`);
    });
    response.on("end", () => {
      resolve({
        url,
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: Buffer.concat(parts),
      });
    });
  });
  sent.end(form?.toString());
  return promise;
}

/** The body of a response with status 200. Throws a `Refusal` for any other status, and for a web page. */
export function bodyOf(got: SourceResponse): Uint8Array<ArrayBuffer> {
  if (got.status === 200 && !isWebPage(got)) return new Uint8Array(got.body);
  throw new Refusal(`${withoutQuery(got.url)}: ${problem(got)}`);
}

/** Describes why a response was not accepted. */
function problem(got: SourceResponse): string {
  if (isWebPage(got)) return "it answers with a web page: look at the address";
  const hint: Record<number, string> = {
    401: ": it needs other credentials",
    403: ": these credentials may not read it, or it needs some",
    404: ": there is nothing at this address",
    429: ": too many requests, try again later",
  };
  return `it answers with the status ${got.status}${hint[got.status] ?? ""}`;
}

const isWebPage = ({ headers }: SourceResponse) =>
  headers["content-type"]?.startsWith("text/html") ?? false;
