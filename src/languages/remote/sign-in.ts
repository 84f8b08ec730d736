/** Finds where callers sign in for an MCP server. https://www.rfc-editor.org/rfc/rfc9728 */
import { isObject, type Json } from "../../server/kernel/core/model.ts";
import { textIn } from "../../server/kernel/core/text.ts";
import { isSafe } from "../../server/kernel/http/private-hosts.ts";
import { DOCS } from "../../tools/bundle/own.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { nodeWire } from "./connection.ts";

/** The sign-in of a server, which the manifest pins. */
export interface RemoteSignIn {
  issuer: string;
  resource: string;
  scopes: string[];
}

const MOST_SCOPES = 50;

/** The sign-in of the server at this URL. Throws a `Refusal` if its metadata are missing or describe another server. */
export async function signInOf(url: URL): Promise<RemoteSignIn> {
  for (const address of await addressesOf(url)) {
    const metadata = await jsonAt(address);
    if (metadata === undefined) continue;
    const { authorization_servers: issuers, resource, scopes_supported: scopes } = metadata;
    const of = URL.parse(textIn(resource));
    if (of === null || of.origin !== url.origin || of.hash !== "" || !isAbove(of, url))
      throw new Refusal(
        `${address.href} describes the sign-in of another server, ${JSON.stringify(textIn(resource).slice(0, 200))}. Take that server's URL if it is the right one`,
      );
    const issuer = URL.parse(textIn(Array.isArray(issuers) ? issuers[0] : undefined));
    if (issuer === null || !isSafe(issuer) || issuer.search !== "" || issuer.hash !== "")
      throw new Refusal(`${address.href} names no authorization server by an https URL`);
    const named = Array.isArray(scopes) ? scopes.map(textIn) : [];
    return {
      issuer: textIn((issuers as unknown[])[0]),
      resource: textIn(resource),
      scopes: named.filter((scope) => /^\S+$/.test(scope)).slice(0, MOST_SCOPES),
    };
  }
  throw new Refusal(
    `${url.href} does not say where to sign in (RFC 9728). If it takes accounts of a provider all the same, make the servlet without --account and add the account by hand: ${DOCS}/accounts.md`,
  );
}

/** True if the resource is the URL, or a path above it. */
const isAbove = ({ pathname }: URL, url: URL): boolean =>
  `${url.pathname}/`.startsWith(pathname.endsWith("/") ? pathname : `${pathname}/`);

/** The addresses that may have the metadata: first the one in the server's refusal, if it is on the same host. */
async function addressesOf(url: URL): Promise<URL[]> {
  const wire = nodeWire(url.href);
  const headers = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "server/discover", params: {} });
  const response = await wire
    .send({ method: "POST", headers, body, repeatable: true })
    .catch((error: Error) => {
      throw new Refusal(`${url.href} cannot be reached: ${error.message}`);
    });
  wire.end();
  const [, named = ""] =
    /resource_metadata="?([^",\s]+)/i.exec(response.header("www-authenticate") ?? "") ?? [];
  const told = URL.parse(named);
  const known = new URL("/.well-known/oauth-protected-resource", url);
  const below = url.pathname === "/" ? [] : [new URL(known.pathname + url.pathname, url)];
  return [...(told?.origin === url.origin ? [told] : []), ...below, known];
}

/** The JSON object at an address; undefined if there is none. */
async function jsonAt({ href }: URL): Promise<Json | undefined> {
  const wire = nodeWire(href);
  try {
    const headers = { accept: "application/json" };
    const { status, text } = await wire.send({ method: "GET", headers, repeatable: true });
    const value: unknown = status === 200 ? JSON.parse(text) : undefined;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  } finally {
    wire.end();
  }
}
