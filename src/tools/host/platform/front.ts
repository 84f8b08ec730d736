/** Prepares requests as Cloudflare's network does before a Worker sees them. */

import { storageRoom } from "../../../server/kernel/core/storage-room.ts";
import { NO_HOST } from "../../../server/kernel/http/private-hosts.ts";

/** Properties in the configuration of workerd's socket, which arrive as `ctx.props`. */
interface SocketProps {
  /** True if a trusted proxy in front of the server sets `X-Forwarded-…` or `Forwarded`. */
  trustProxy?: boolean;
}

/** Requests served before one waits for the event loop. A wait for each request would cost 0.1 ms of CPU. */
const SERVED_AT_ONCE = 16;
/** Requests since the last wait. */
let served = 0;

interface Handler {
  fetch(
    request: Request,
    env: Cloudflare.Env,
    context: ExecutionContext,
  ): Response | Promise<Response>;
}

/**
 * Wraps the Worker for requests from workerd's socket. Sets `cf-connecting-ip` to the client's address, and replaces
 * `cf` by the origin that a trusted proxy reports. Without workerd's own `cf`, no caller counts as local (`isLocal`):
 * callers through a proxy on this machine would have a loopback address.
 *
 * After every `SERVED_AT_ONCE` requests, a request waits until workerd's event loop is idle. Only then does workerd
 * poll for new data, connections and due timers; otherwise a few busy connections would starve all others.
 */
export const asOnCloudflare = (worker: Handler): Handler => ({
  async fetch(request, env, context) {
    const isProxied = (context.props as SocketProps | undefined)?.trustProxy === true;
    if (++served > SERVED_AT_ONCE) {
      await scheduler.wait(0);
      served = 0;
    }
    // workerd joins repeated Host headers, and accepts names that are not valid in a URL.
    if (!URL.canParse(request.url)) return new Response(`${NO_HOST}\n`, { status: 400 });
    const headers = new Headers(request.headers);
    const said = isProxied ? saidBy(headers) : {};
    if (!isProxied && !warned.has(worker) && BY_PROXIES.some((name) => headers.has(name))) {
      warned.add(worker);
      console.warn(
        "A request has headers of a proxy (X-Forwarded-… or Forwarded), which are ignored: anybody can send them. If a proxy of yours is in front of this server, start it with --trust-proxy, so that each of its clients counts by its own address.",
      );
    }
    const address = said.for ?? peerOf(request);
    if (address === undefined) headers.delete("cf-connecting-ip");
    else headers.set("cf-connecting-ip", address);
    const { method, signal } = request;
    // A `Request` with method GET or HEAD cannot have a body, and the Worker would not read it.
    const body = method === "GET" || method === "HEAD" ? null : request.body;
    // `http` needs no change here: the Worker itself reads `X-Forwarded-Proto`.
    const url = said.proto === "https" ? request.url.replace(/^http:/, "https:") : request.url;
    const named = said.host === undefined ? undefined : originOf(said.host, said.proto);
    const own = (env as { PUBLIC_URL?: string }).PUBLIC_URL;
    if (named === null && own === undefined) return new Response(NO_NAME, { status: 400 });
    const known = URL.parse(own ?? url)?.origin;
    if (named && named !== known && !warned.has(worker)) {
      warned.add(worker);
      console.warn(
        `The proxy says that clients use ${named}, and not ${known}. If that is this server's public address, add this line to its settings: PUBLIC_URL=${named}`,
      );
    }
    const cf = named ? { forwardedOrigin: named } : {};
    // Do not copy the request: a copy would keep its `cf`.
    const cleaned: Request = new Request(url, { method, headers, body, signal, cf });
    return worker.fetch(cleaned, env, context);
  },
});

/** Receives the host's reports on the disk (`src/tools/host/disk.ts`), on a socket that only the host reaches. */
export const Disk = {
  fetch(request: Request): Response {
    storageRoom.isFull = new URL(request.url).pathname === "/full";
    return new Response();
  },
};

/** Workers that have already logged a warning about their proxy. */
const warned = new WeakSet<Handler>();

const BY_PROXIES = ["x-forwarded-for", "x-forwarded-host", "forwarded"];

const NO_NAME =
  "X-Forwarded-Host (or host in Forwarded) is not the name of a host, with or without a port. Have the proxy send the host of the URL there, or set PUBLIC_URL.\n";

/** A proxy's description of a forwarded request. */
interface Said {
  /** The client's address. */
  for?: string | undefined;
  /** The host that the client requested, not validated. */
  host?: string | undefined;
  proto?: "http" | "https" | undefined;
}

/** The nearest proxy's description: the last value of each header. Prefers `X-Forwarded-…` to `Forwarded`. */
function saidBy(headers: Headers): Said {
  const last = (name: string) => headers.get(name)?.split(",").at(-1)?.trim();
  const forwarded = lastElement(headers.get("forwarded") ?? "");
  const proto = (last("x-forwarded-proto") || forwarded.get("proto"))?.toLowerCase();
  return {
    for: addressIn(last("x-forwarded-for") || forwarded.get("for")),
    host: last("x-forwarded-host") || forwarded.get("host") || undefined,
    proto: proto === "http" || proto === "https" ? proto : undefined,
  };
}

/** The parameters of the last element of a `Forwarded` header. https://www.rfc-editor.org/rfc/rfc7239#section-4 */
function lastElement(text: string): Map<string, string> {
  let found = new Map<string, string>();
  const parts = /(,)|([^\s=;,"]+)(?:=(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/g;
  for (const [, comma, name = "", quoted, token = ""] of text.matchAll(parts)) {
    if (comma) found = new Map();
    else found.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, "$1") ?? token);
  }
  return found;
}

/** The origin with this host, with https by default, as proxies usually terminate TLS. Null for an invalid host. */
const originOf = (host: string, proto = "https"): string | null =>
  (/^[^/?#@\\\s]+$/.test(host) ? URL.parse(`${proto}://${host}`)?.origin : null) ?? null;

/** The address in `192.0.2.1:40172` or `[2001:db8::1]:40172`, without its port; undefined if it is not an address. */
function addressIn(text = ""): string | undefined {
  const address = /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/^([^:]+):\d+$/, "$1");
  return /^[\da-f.:]+$/i.test(address) ? address : undefined;
}

function peerOf({ cf }: Request): string | undefined {
  const peer = cf?.["clientIp"];
  return typeof peer === "string" ? addressIn(peer) : undefined;
}
