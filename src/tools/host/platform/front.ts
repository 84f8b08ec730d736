/** Prepares requests as Cloudflare's network does before a Worker sees them. */

import { storageRoom } from "../../../server/kernel/core/storage-room.ts";
import { NO_HOST } from "../../../server/kernel/http/private-hosts.ts";

/** Properties that the configuration of workerd's socket passes on, as `ctx.props`. */
interface SocketProps {
  /** A trusted proxy is in front of the server, and says in `X-Forwarded-…` or `Forwarded` how its client came. */
  trustProxy?: boolean;
}

/** How many requests begin before one waits: to wait for each would cost a small call 0.1 ms of CPU. */
const SERVED_AT_ONCE = 16;
/** Requests since the last that has waited. */
let served = 0;

interface Handler {
  fetch(
    request: Request,
    env: Cloudflare.Env,
    context: ExecutionContext,
  ): Response | Promise<Response>;
}

/**
 * Wraps the Worker for requests from workerd's socket: sets `cf-connecting-ip` to the client's address, whatever the
 * client sent there, and `cf` to no more than the origin at which a trusted proxy says that the client is. So no caller
 * counts as a person at this machine (`isLocal`): callers through a proxy on this machine would have its address.
 *
 * After some requests, those that follow wait until the event loop of workerd is idle: only then does workerd look for new
 * data, connections and due timers. Without that, a few connections that keep it busy are served while all others wait.
 */
export const asOnCloudflare = (worker: Handler): Handler => ({
  async fetch(request, env, context) {
    const isProxied = (context.props as SocketProps | undefined)?.trustProxy === true;
    if (++served > SERVED_AT_ONCE) {
      await scheduler.wait(0);
      served = 0;
    }
    // workerd joins repeated Host headers, and passes on names that no URL can have.
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
    // None can be made of one with a body, and nobody reads that.
    const body = method === "GET" || method === "HEAD" ? null : request.body;
    // The Worker sees the header, too: whether it says `http`.
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
    // A copy of the request itself would keep its `cf`.
    const cleaned: Request = new Request(url, { method, headers, body, signal, cf });
    return worker.fetch(cleaned, env, context);
  },
});

/** The entrypoint to which the host reports whether the disk is full (`src/tools/host/disk.ts`), on a socket that only the host reaches. */
export const Disk = {
  fetch(request: Request): Response {
    storageRoom.isFull = new URL(request.url).pathname === "/full";
    return new Response();
  },
};

/** The Workers whose log has said that a proxy names the server otherwise, or is not trusted. */
const warned = new WeakSet<Handler>();

const BY_PROXIES = ["x-forwarded-for", "x-forwarded-host", "forwarded"];

const NO_NAME =
  "X-Forwarded-Host (or host in Forwarded) is not the name of a host, with or without a port. Have the proxy send the host of the URL there, or set PUBLIC_URL.\n";

/** A proxy's description of the request that it passes on. */
interface Said {
  /** The client's address. */
  for?: string | undefined;
  /** The host that it has named, as it was sent. */
  host?: string | undefined;
  proto?: "http" | "https" | undefined;
}

/** The description by the nearest proxy: it has added the last values. `X-Forwarded-…` is what most proxies write. */
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

/** The origin with this host, by https unless the proxy says otherwise: it holds the certificate. Null for no host. */
const originOf = (host: string, proto = "https"): string | null =>
  (/^[^/?#@\\\s]+$/.test(host) ? URL.parse(`${proto}://${host}`)?.origin : null) ?? null;

/** An address without its port, as in `192.0.2.1:40172` and `[2001:db8::1]:40172`; undefined for no address. */
function addressIn(text = ""): string | undefined {
  const address = /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/^([^:]+):\d+$/, "$1");
  return /^[\da-f.:]+$/i.test(address) ? address : undefined;
}

function peerOf({ cf }: Request): string | undefined {
  const peer = cf?.["clientIp"];
  return typeof peer === "string" ? addressIn(peer) : undefined;
}
