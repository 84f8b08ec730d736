import { Fault } from "../core/errors.ts";
import { isAnonymous } from "../core/callers.ts";
import { isSecureUrl } from "../settings/oauth-settings.ts";
import { GuestError } from "../wasm/guest.ts";
import { accountIn } from "../wasm/account.ts";
import { isAllowed } from "../wasm/hosts.ts";
import type { World } from "../wasm/world.ts";
import type { PreparedServlet } from "./bundle.ts";
import type { AccountGrant, Deployment } from "./deployment.ts";
import { formsOf, SHORTEST_PART } from "../core/redaction.ts";

/**
 * A world whose requests carry the caller's access token in place of the guest's `Authorization: account NAME`. The
 * token goes only to the hosts that the manifest names for it, by https, and never back to the guest.
 *
 * Its `fetch` throws a `GuestError` that says what is not allowed.
 */
export function withAccounts(
  world: World,
  servlet: PreparedServlet,
  { accounts, caller }: Pick<Deployment, "accounts"> & { caller: string | undefined },
): World {
  const send: World["fetch"] = async (input, init) => {
    const headers = new Headers(input instanceof Request ? input.headers : init?.headers);
    const account = accountIn(headers.get("authorization"));
    if (account === undefined) return world.fetch(input, init);
    const request = new Request(input, init);
    const grant = grantOf(servlet, account);
    if (grant === undefined) throw new GuestError(notNamed(account));
    demandHost(new URL(request.url), grant);
    demandWhole(request.headers, account);
    const token = async (refused?: string) => {
      const isKnown = accounts !== undefined && caller !== undefined && !isAnonymous(caller);
      const found = isKnown
        ? await accounts.token(caller, grant, refused).catch(unreachable)
        : undefined;
      if (found !== undefined || refused !== undefined) return found;
      throw new GuestError(`The account ${account} is not connected. Call again to connect it.`);
    };
    const first = await token();
    const response = await world.fetch(authorized(request, first!));
    const next = response.status === 401 ? await token(first) : first;
    if (next === first || next === undefined) return guarded(response, account, first!);
    await response.body?.cancel();
    return guarded(await world.fetch(authorized(request, next)), account, next);
  };
  return { ...world, fetch: send };
}

/** What the manifest asks for with this account; undefined if it does not name the account. */
export function grantOf(
  { name, manifest }: PreparedServlet,
  account: string,
): AccountGrant | undefined {
  const { accounts = {} } = manifest;
  const named = Object.hasOwn(accounts, account) ? accounts[account] : undefined;
  if (named === undefined) return undefined;
  const { scopes = [], hosts, issuer, resource } = named;
  return {
    servlet: name,
    account,
    scopes,
    hosts,
    ...(issuer !== undefined && { issuer }),
    ...(resource !== undefined && { resource }),
  };
}

export const notNamed = (account: string): string =>
  `The servlet uses the account ${account}, which its manifest does not name. Add it to accounts in servlet.json.`;

function demandHost(url: URL, { account, hosts }: AccountGrant): void {
  if (!isAllowed(url, hosts))
    throw new GuestError(
      `Requests with the account ${account} may not go to ${url.host}: its hosts in the manifest do not include that host.`,
    );
  if (!isSecureUrl(url.href))
    throw new GuestError(`Requests with the account ${account} must use https.`);
}

/**
 * Headers that request a part of the response, a difference, or a response by a proxy. A host that echoes requests
 * would return the token in pieces, which no search finds. `Content-Range` describes what is sent.
 */
const PARTIAL = /^((?!content-)([\w.-]+-)?range|a-im|te|trailer|max-forwards)$/i;

/** Headers by which some frameworks override the method: `TRACE` echoes the request. */
const OVERRIDE = /^(x-)?http-method(-override)?$|^x-method-override$/i;

function demandWhole(headers: Headers, account: string): void {
  for (const [name, value] of headers) {
    if (!PARTIAL.test(name) && !(OVERRIDE.test(name) && /trac[ek]|connect/i.test(value))) continue;
    throw new GuestError(
      `Requests with the account ${account} may not have the header ${name.slice(0, 80)}: it could give the access token in pieces. Ask for the whole response.`,
    );
  }
}

function unreachable(error: unknown): never {
  throw new GuestError(Fault.from(error).message, { cause: error });
}

/** The request with the token; the original can be sent again. */
function authorized(request: Request, token: string): Request {
  const sent = new Request(request.clone());
  sent.headers.set("authorization", `Bearer ${token}`);
  sent.headers.set("accept-encoding", "gzip, br");
  sent.headers.delete("accept-charset");
  return sent;
}

/** Content codings that the platform decodes. In any other, a token would not be found. */
const DECODED = /^(gzip|br|identity|)$/;

/** The response, whose body fails if it contains the token in any form: some hosts echo requests. */
function guarded(response: Response, account: string, token: string): Response {
  const all = formsOf(token).filter(({ length }) => length >= SHORTEST_PART);
  const forms = [...new Set(all.map((form) => form.toLowerCase()))];
  const withheld = (why: string) =>
    new GuestError(
      `The response to a request with the account ${account} ${why}, so the servlet does not get the response.`,
    );
  if (!DECODED.test(response.headers.get("content-encoding") ?? ""))
    throw withheld("was compressed in another way than gzip or br");
  if (response.status === 206 || response.headers.has("content-range"))
    throw withheld("was a part of one");
  const demandNone = (text: string) => {
    const searched = text.toLowerCase();
    if (forms.some((form) => searched.includes(form))) throw withheld("had its access token in it");
  };
  for (const [name, value] of response.headers) demandNone(`${name}: ${value}`);
  if (response.body === null || forms.length === 0) return response;
  const longest = Math.max(...forms.map(({ length }) => length));
  const decoder = new TextDecoder("latin1");
  let before = "";
  const check = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      // Without the zeros that UTF-16 and UTF-32 have between letters.
      const text = before + decoder.decode(chunk).replaceAll("\0", "");
      demandNone(text);
      before = text.slice(-longest + 1);
      controller.enqueue(chunk);
    },
  });
  const { status, headers } = response;
  return new Response(response.body.pipeThrough(check), { status, headers });
}
