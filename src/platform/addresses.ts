/** What Cloudflare's network does with a request before a Worker sees it, and workerd does not. */

/** What the configuration of workerd's socket says, as `ctx.props`. */
export interface SocketProps {
  /** A proxy stands before the server, and appends the client's address to `X-Forwarded-For`. */
  trustProxy?: boolean;
}

interface Handler {
  fetch(
    request: Request,
    env: Cloudflare.Env,
    context: ExecutionContext,
  ): Response | Promise<Response>;
}

/**
 * The Worker, for requests that come from workerd's socket: `cf-connecting-ip` is the client's address, whatever the
 * client has written there, and there is no `cf`. So nobody is taken for a person at this machine (`isLocal`): all
 * callers of a proxy that runs here have its address.
 */
export const withAddresses = (worker: Handler): Handler => ({
  fetch(request, env, context) {
    const headers = new Headers(request.headers);
    const address = addressOf(request, context.props as SocketProps | undefined);
    if (address === undefined) headers.delete("cf-connecting-ip");
    else headers.set("cf-connecting-ip", address);
    // A copy of the request itself would keep its `cf`.
    const { url, method, body, signal } = request;
    const cleaned: Request = new Request(url, { method, headers, body, signal });
    return worker.fetch(cleaned, env, context);
  },
});

function addressOf({ headers, cf }: Request, { trustProxy = false }: SocketProps = {}) {
  const forwarded = trustProxy ? headers.get("x-forwarded-for")?.split(",").at(-1)?.trim() : "";
  if (forwarded) return forwarded;
  const peer = cf?.["clientIp"];
  // As in `192.0.2.1:40172` and `[2001:db8::1]:40172`.
  return typeof peer === "string" ? /^\[?([^\]]*?)\]?(:\d+)?$/.exec(peer)?.[1] : undefined;
}
