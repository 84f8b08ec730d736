/** What the endpoint asks of a client without credentials. */
import { notTried, right, wrong, type Finding } from "./finding.ts";
import { initializing, Session } from "./session.ts";
import { blockedBy } from "./agents.ts";
import { post, wordsIn, type Reply } from "./requests.ts";

/** `unusable`: the endpoint answers as no MCP server does, so nothing else is worth trying. */
export type Access = "open" | "protected" | "unusable";

export interface Asked {
  access: Access;
  /** The `WWW-Authenticate` header; empty without one. */
  challenge: string;
  finding: Finding;
}

const NAME = "Endpoint";

/** Sends `initialize` without credentials. */
export async function askedOf(endpoint: URL): Promise<Asked> {
  const reply = await post(endpoint, initializing());
  const challenge = reply.headers.get("www-authenticate") ?? "";
  const { status, message } = reply;
  if (status === 401)
    return {
      access: "protected",
      challenge,
      finding: right(NAME, "Clients must have a key or sign in (status 401 without)."),
    };
  if (message?.result !== undefined) {
    await new Session(endpoint, reply).end();
    return {
      access: "open",
      challenge,
      finding: right(
        NAME,
        "It answers without a key: anybody who reaches it may call (docs/access.md).",
      ),
    };
  }
  return { access: "unusable", challenge, finding: wrong(NAME, refusalOf(reply)) };
}

/** Why an endpoint does not answer as an MCP server, and what to do. */
function refusalOf(reply: Reply): string {
  const { status } = reply;
  const words = wordsIn(reply);
  const block = blockedBy(reply);
  if (block !== undefined) return `Requests are refused with status ${status}. ${block}`;
  switch (status) {
    case 404:
    case 405:
      return `There is no MCP endpoint at this URL (status ${status}). Check the path: servers of this project have /mcp.${words}`;
    case 421:
      return `The server does not know this host (status 421). Set PUBLIC_URL or ALLOWED_HOSTS to it.${words}`;
    case 429:
      return `Too many requests came from this address (status 429). Try again in a minute.${words}`;
    default:
      return `The endpoint answers initialize with status ${status}, and not as an MCP server. ${status >= 500 ? "See the server's log." : "Check the URL."}${words}`;
  }
}

/** Why something was not tried at an endpoint that cannot be used. */
export const unusable = (name: string): Finding =>
  notTried(name, "The endpoint does not answer as an MCP server: see above.");
