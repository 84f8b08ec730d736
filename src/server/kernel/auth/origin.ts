import { Notes } from "../core/notes.ts";
import ipaddr from "ipaddr.js";
import { runsOf, type Settings } from "../settings/env.ts";
import { Fault } from "../core/errors.ts";
import { withoutDotIn } from "../core/host-name.ts";
import { isLoopback, isSafe, NO_HOST } from "../http/private-hosts.ts";

/** Which hosts and web pages this server answers, besides loopback ones. */
interface OriginPolicy extends Pick<Settings, "ALLOWED_ORIGINS" | "ALLOWED_HOSTS"> {
  /** The server's public origin: PUBLIC_URL. */
  own: URL | undefined;
  /** The value of `RUNS`. */
  runs: string | undefined;
}

export const originPolicy = (
  { ALLOWED_ORIGINS, ALLOWED_HOSTS, PUBLIC_URL }: Settings,
  env: object,
): OriginPolicy => ({
  ALLOWED_ORIGINS,
  ALLOWED_HOSTS,
  own: PUBLIC_URL === undefined ? undefined : new URL(PUBLIC_URL),
  runs: runsOf(env),
});

/** URLs that are safe without an Origin header: avoids parsing in the common case. */
const SAFE = /^(https:|http:\/\/(localhost|127\.0\.0\.1)[:/])/;

/** How a request arrived, before its URL was rewritten to the server's own origin. */
interface Arrival {
  /** The address that its client used, as far as known. */
  url: URL;
  /** The address in its Host header, if a trusted proxy has named another. */
  host?: URL;
  readonly isLocal: boolean;
}

/** URLs whose host may end with a dot. */
const DOTTED = /\.[:/]/;

/** The original URL of each request whose URL was rewritten, and whether it came from this machine. */
const arrivals = new Notes<Request, Arrival>();

/** The origin of a request's URL. URLs of the usual form are not parsed. */
export const originOf = ({ url }: Request): string =>
  /^https?:\/\/[a-z\d.-]*[a-z][a-z\d.-]*(:\d{4,5})?(?=\/)/.exec(url)?.[0] ?? new URL(url).origin;

/** The address that the client of a request used. */
export const arrivalOf = (request: Request): URL =>
  arrivals.get(request)?.url ?? new URL(request.url);

/**
 * The address whose origin is the audience of a request's tokens: PUBLIC_URL, else that of the Host header. A proxy's
 * headers do not choose it.
 */
export const audienceAt = (request: Request): string =>
  arrivals.get(request)?.host?.href ?? request.url;

/** Copies the arrival of `from` to a request made from it. */
export function arrivedAs(from: Request, made: Request): Request {
  const arrival = arrivals.get(from);
  if (arrival) arrivals.set(made, arrival);
  return made;
}

/** The request without this header, as if it had arrived so. */
export function withoutHeader(request: Request, header: string): Request {
  const headers = new Headers(request.headers);
  headers.delete(header);
  return arrivedAs(request, new Request(request, { headers }));
}

/**
 * The request at the server's own origin, by which everything names this server: at PUBLIC_URL if that is set, else
 * where a trusted proxy says that its client has sent it, else as it came, without a dot at the end of its host. How it
 * came is remembered for what depends on that. Throws `invalid_request`.
 */
export function atOwnOrigin(request: Request, policy: OriginPolicy): Request {
  const { own, runs } = policy;
  const forwarded = own === undefined && runs === SELF_HOSTED ? forwardedTo(request) : undefined;
  const dotted = DOTTED.test(request.url) ? URL.parse(request.url) : null;
  const at = own ?? forwarded ?? (dotted === null ? undefined : withoutDotIn(dotted));
  const isMoved = at !== undefined && !request.url.startsWith(at.href);
  // Most requests: their address tells nothing more.
  if (!isMoved && (runs === undefined || (own !== undefined && runs !== ON_LOOPBACK)))
    return request;
  if (own === undefined && runs === ON_LOOPBACK && HERE.test(request.url)) {
    arrivals.set(request, new LocalArrival(request));
    return request;
  }
  const url = addressOf(request, policy);
  const made = isMoved ? new Request(at.origin + url.pathname + url.search, request) : request;
  const isLocal = runs === ON_LOOPBACK && isFromHere(request, url);
  const asNamed = isMoved && own === undefined ? { url: new URL(made.url), host: url } : { url };
  arrivals.set(made, { ...asNamed, isLocal });
  return made;
}

/** The arrival of a request whose URL is unchanged, computed on demand. */
class LocalArrival implements Arrival {
  readonly #request: Request;

  constructor(request: Request) {
    this.#request = request;
  }

  get url(): URL {
    return new URL(this.#request.url);
  }

  get isLocal(): boolean {
    return isFromHere(this.#request, this.url);
  }
}

const ON_LOOPBACK = "on-loopback";
const SELF_HOSTED = "self-hosted";

/**
 * The origin that src/tools/host/platform/front.ts has read from a trusted proxy's headers. Clients cannot set `cf`.
 */
const forwardedTo = ({ cf }: Request): URL | undefined => {
  const origin: unknown = cf?.["forwardedOrigin"];
  return typeof origin === "string" ? withoutDotIn(new URL(origin)) : undefined;
};

function addressOf({ url: text, headers }: Request, { own, runs }: OriginPolicy): URL {
  const given = URL.parse(text);
  const url = given && withoutDotIn(given);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username + url.password !== "") {
    throw new Fault("invalid_request", NO_HOST);
  }
  // A proxy in front of a self-hosted server holds the certificate, and passes the name on. With another port, or if it
  // says so, the client used plain http.
  const protocol = headers.get("x-forwarded-proto")?.split(",").at(-1)?.trim() ?? "https";
  const isProxied =
    runs === SELF_HOSTED &&
    own?.protocol === "https:" &&
    url.hostname === own.hostname &&
    (url.port === "" || url.port === (own.port || "443"));
  if (isProxied && protocol.toLowerCase() === "https") {
    url.protocol = own.protocol;
    url.port = own.port;
  }
  return url;
}

/**
 * True for a request from a loopback address to a loopback name that no proxy passed on. Clients can forge all of this:
 * it proves something only where no other machine can reach the server.
 */
function isFromHere(request: Request, { hostname }: URL): boolean {
  const address = request.headers.get("cf-connecting-ip");
  if (address === null || request.cf === undefined || isPassedOn(request.headers)) return false;
  return isLoopback(address.includes(":") ? `[${address}]` : address) && isLoopback(hostname);
}

/** True if a proxy or a tunnel says that it has passed a request on. */
const isPassedOn = (headers: Headers): boolean =>
  ["x-forwarded-for", "x-forwarded-host", "forwarded", "via"].some((name) => headers.has(name));

/** True for a request from this machine. Only `dev` on loopback can tell: `RUNS` says so. */
export const isLocal = (request: Request): boolean => arrivals.get(request)?.isLocal ?? false;

/** URLs with the usual names of this machine, recognized without parsing. */
const HERE = /^http:\/\/(localhost|127\.0\.0\.1)(:[1-5]?\d{1,4})?\//;

/** True if both the client's address and the server's own are loopback names. */
export const isAtLoopback = (request: Request): boolean =>
  isLoopbackUrl(request.url) && (isAsItCame(request) || isLoopbackUrl(arrivalOf(request).href));

const isLoopbackUrl = (url: string): boolean => HERE.test(url) || isLoopback(new URL(url).hostname);

/** True if the client used the address of the request's URL, as far as known. */
function isAsItCame(request: Request): boolean {
  const arrival = arrivals.get(request);
  return arrival === undefined || arrival instanceof LocalArrival;
}

/** True for a host that this server serves. */
const isOurs = ({ hostname }: URL, { own, runs, ALLOWED_HOSTS }: OriginPolicy): boolean =>
  (own === undefined && runs !== SELF_HOSTED) ||
  hostname === own?.hostname ||
  isLoopback(hostname) ||
  ALLOWED_HOSTS.includes(hostname);

const hostOf = (request: Request): URL => arrivals.get(request)?.host ?? arrivalOf(request);

/** True for https addresses, and for those at which plain http is served. */
const isSafeEnough = (url: URL, { own, ALLOWED_HOSTS }: OriginPolicy): boolean =>
  isSafe(url) || url.origin === own?.origin || ALLOWED_HOSTS.includes(url.hostname);

/** True for a request to an address at which this server is served. */
export const isServed = (request: Request, policy: OriginPolicy): boolean =>
  isOurs(hostOf(request), policy) && isSafeEnough(arrivalOf(request), policy);

/**
 * Refuses requests for other hosts, where this server's are known, and requests that a web page could make a browser
 * send: from a foreign origin, or to a name that was rebound to this machine. A Worker cannot see the address that it
 * is bound to, so plain http is for loopback names only. Takes the request at the server's own origin, and the value of
 * its `Origin` header.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security--endpoint
 *
 * Throws `misdirected`, `forbidden`.
 */
export function checkOrigin(request: Request, origin: string | null, policy: OriginPolicy): void {
  if (
    origin === null &&
    isAsItCame(request) &&
    (policy.own !== undefined || SAFE.test(request.url))
  )
    return;
  const url = arrivalOf(request);
  if (!isOurs(hostOf(request), policy)) {
    throw new Fault(
      "misdirected",
      "This server does not serve the host of this request. Use its public URL, or set PUBLIC_URL or ALLOWED_HOSTS to this host.",
    );
  }
  if (!isSafeEnough(url, policy)) {
    throw new Fault(
      "forbidden",
      "Plain http is served to loopback host names only. Use https, or add this host to ALLOWED_HOSTS.",
    );
  }
  if (origin !== null && !isAllowedOrigin(url, origin, policy)) {
    throw new Fault("forbidden", "This origin is not allowed. Add it to ALLOWED_ORIGINS.");
  }
}

function isAllowedOrigin(
  url: URL,
  origin: string,
  { ALLOWED_ORIGINS: allowed, own }: OriginPolicy,
): boolean {
  // Compared verbatim: `null` and the origins of apps, such as `chrome-extension://…`, have no parsed form.
  if (origin !== "*" && allowed.includes(origin)) return true;
  if (!URL.canParse(origin)) return false;
  const given = new URL(origin);
  // An origin has no path, and only a well-formed one equals its parsed form.
  if (given.origin !== origin.toLowerCase()) return false;
  const parsed = withoutDotIn(given);
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") return false;
  if (isPageOf(url, parsed) || isLoopback(parsed.hostname)) return true;
  if (parsed.origin === own?.origin) return true;
  const isNamed = (one: string) =>
    one === parsed.origin || one.replace(/\.(?=(:\d+)?$)/, "") === parsed.origin;
  if (allowed.some(isNamed)) return true;
  return parsed.protocol === "https:" && allowed.includes("*");
}

/**
 * The correction of an entry of ALLOWED_ORIGINS that can equal no Origin header: browsers send the scheme and, for web
 * pages, the host in lower case, and no path, default port or wildcard. Undefined for all others.
 */
export function correctedOrigin(entry: string): string | undefined {
  if (entry === "*") return undefined;
  const bare = entry.replaceAll(/["'`]/g, "");
  if (/^null$/i.test(bare)) return entry === "null" ? undefined : "null";
  if (bare.includes("*")) return "each origin by its own, or * for all https ones";
  const [, scheme, host] = /^(?!https?:)([a-z][a-z\d+.-]*):\/\/([^/?#]*)/i.exec(bare) ?? [];
  const web = /^(?!https?:)[\p{L}\d[]/iu.test(bare) ? `https://${bare}` : bare;
  const meant = scheme === undefined ? URL.parse(web)?.origin : `${scheme.toLowerCase()}://${host}`;
  return meant === entry
    ? undefined
    : (meant ?? "the scheme and the host, such as https://app.example");
}

/**
 * True for the origin of a page at this address. An http page may have been tampered with; a proxy may terminate https,
 * also on this machine, where whoever serves https under the same name could serve http too.
 */
const isPageOf = ({ host, protocol }: URL, origin: URL): boolean =>
  origin.host === host && (origin.protocol === protocol || origin.protocol === "https:");

/**
 * The addresses at which a browser may have this server's page that a request is for or from, the likeliest first: the
 * server's own, and the address of the request. A form's address is in its Origin header; a request without one, such
 * as one that opens a page, may have come through a proxy that names a loopback host. Empty for a page of another site.
 */
export function pageAddresses(request: Request): URL[] {
  const own = new URL(request.url);
  const url = arrivalOf(request);
  const isProxys = isLoopback(url.hostname) && isPassedOn(request.headers);
  const addresses = isProxys || url.origin === own.origin ? [own] : [own, url];
  const origin = request.headers.get("origin");
  if (origin === null) return addresses;
  const from = URL.parse(origin);
  return from === null ? [] : addresses.filter((address) => isPageOf(address, withoutDotIn(from)));
}

/** Throws `forbidden` for a request of a web page that is not this server's own, whatever origins are allowed. */
export function demandOwnOrigin(request: Request): void {
  if (pageAddresses(request).length === 0)
    throw new Fault(
      "forbidden",
      "Web pages of other sites may not call this. Open it in a tab of its own; programs use /mcp, and operators npm run servlets.",
    );
}

/**
 * An IPv4 address in its usual form, recognized without the library: every anonymous request is counted by its network.
 */
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** The network of an address: an IPv4 address, or the /64 of an IPv6 address. */
export function networkOf(address: string): string {
  if (IPV4.test(address) || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address); // An IPv4-mapped IPv6 address becomes the IPv4 address.
  if (!("parts" in parsed)) return parsed.toString();
  const groups = parsed.parts.slice(0, 4);
  return groups.map((group) => group.toString(16)).join(":");
}
