/** The URL of the server to check, as a person gives it. */
import { isLoopback } from "../../server/kernel/http/private-hosts.ts";
import { Refusal } from "../bundle/refusal.ts";

export interface Address {
  endpoint: URL;
  /** The parts that were not given, such as `https`. */
  assumed: readonly string[];
}

/** The MCP endpoint that a text names: with or without a scheme, and with or without a path. Throws a `Refusal`. */
export function addressIn(given: string): Address {
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(given);
  const host = URL.parse(`http://${given}`)?.hostname;
  const scheme = host !== undefined && isLoopback(host) ? "http" : "https";
  const url = URL.parse(hasScheme ? given : `${scheme}://${given}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === "")
    throw new Refusal(
      `"${given}" is not the URL of a server. Give one such as https://tools.example.com/mcp.`,
    );
  if (url.username + url.password !== "")
    throw new Refusal(
      "The URL has a user name or password, which MCP clients do not send. Give the URL alone, and a key as EDGE_SERVLETS_KEY.",
    );
  url.hash = "";
  const isBare = url.pathname === "/" && url.search === "";
  if (isBare) url.pathname = "/mcp";
  return {
    endpoint: url,
    assumed: [...(hasScheme ? [] : [scheme]), ...(isBare ? ["the path /mcp"] : [])],
  };
}

/** A URL without its query, which may have a secret. */
export const shownUrl = ({ origin, pathname, search, protocol, host }: URL): string =>
  `${origin === "null" ? `${protocol}//${host}` : origin}${pathname}${search === "" ? "" : "?…"}`;
