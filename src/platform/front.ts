/** Prepares requests as Cloudflare's network does before a Worker sees them. */

/** Properties that the configuration of workerd's socket passes on, as `ctx.props`. */
export interface SocketProps {
  /** A trusted proxy is in front of the server, and appends the client's address to `X-Forwarded-For`. */
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
 * client sent there, and removes `cf`. So no caller counts as a person at this machine (`isLocal`): callers through a
 * proxy on this machine would have its address.
 *
 * After some requests, those that follow wait until the event loop of workerd is idle: only then does workerd look for new
 * data, connections and due timers. Without that, a few connections that keep it busy are served while all others wait.
 */
export const asOnCloudflare = (worker: Handler): Handler => ({
  async fetch(request, env, context) {
    if (++served > SERVED_AT_ONCE) {
      await scheduler.wait(0);
      served = 0;
    }
    if (!URL.canParse(request.url)) return new Response(NO_HOST, { status: 400 });
    const headers = new Headers(request.headers);
    const address = addressOf(request, isTrusted(context));
    if (address === undefined) headers.delete("cf-connecting-ip");
    else headers.set("cf-connecting-ip", address);
    const { method, body, signal } = request;
    const url = isTrusted(context) ? asForwarded(request) : request.url;
    // A copy of the request itself would keep its `cf`.
    const cleaned: Request = new Request(url, { method, headers, body, signal });
    return worker.fetch(cleaned, env, context);
  },
});

/** workerd joins repeated Host headers, and passes on names that no URL can have. */
const NO_HOST =
  "The Host header is not the name of a host, with or without a port. Send one Host header with the host of the URL.\n";

const isTrusted = ({ props }: ExecutionContext) => (props as SocketProps | undefined)?.trustProxy;

/** The last value of a header with a list of them: the nearest proxy has added it. */
const lastOf = ({ headers }: Request, name: string) =>
  headers.get(name)?.split(",").at(-1)?.trim().toLowerCase();

/** The address with the protocol by which the client came. The Worker sees the header, too: whether it says `http`. */
const asForwarded = (request: Request): string =>
  lastOf(request, "x-forwarded-proto") === "https"
    ? request.url.replace(/^http:/, "https:")
    : request.url;

function addressOf(request: Request, isProxyTrusted = false) {
  const forwarded = isProxyTrusted && lastOf(request, "x-forwarded-for");
  if (forwarded) return forwarded;
  const { cf } = request;
  const peer = cf?.["clientIp"];
  // As in `192.0.2.1:40172` and `[2001:db8::1]:40172`.
  return typeof peer === "string" ? /^\[?([^\]]*?)\]?(:\d+)?$/.exec(peer)?.[1] : undefined;
}
