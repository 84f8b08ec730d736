/** Whether the endpoint is an MCP server's, what it demands of clients, and whether it accepts the key. */
import { isSafe } from "../../server/kernel/http/private-hosts.ts";
import { DOCS } from "../bundle/own.ts";
import { blockedBy } from "./agents.ts";
import { findingsOf, right, wrong, type Finding } from "./finding.ts";
import { bearer, post, wordsIn, type RpcReply, type HttpReply } from "./requests.ts";
import { initializing, TrialSession } from "./session.ts";

/** What the answers to `initialize` show, without credentials and with the key. */
export interface EndpointAccess {
  findings: readonly Finding[];
  /** `unusable`: the endpoint answers as no MCP server does, so nothing else is worth trying. */
  kind: "open" | "protected" | "unusable";
  /** The `WWW-Authenticate` header; empty without one. */
  challenge: string;
  /** The key, if the server knows it. */
  key: string | undefined;
  /** Why no calls can be tried; undefined if they can. */
  closed: string | undefined;
}

const NAME = "Endpoint";
const UNUSABLE = "The endpoint does not answer as an MCP server: see above.";

/** Sends `initialize` without credentials, then with the key, unless that could be read in transit. */
export async function accessTo(endpoint: URL, key: string | undefined): Promise<EndpointAccess> {
  let reply: RpcReply | undefined;
  const findings = await findingsOf(NAME, async () => {
    reply = await post(endpoint, initializing());
    return [endpointFinding(reply)];
  });
  const challenge = reply?.headers.get("www-authenticate") ?? "";
  const isOpen = reply?.message?.result !== undefined;
  if (reply === undefined || (!isOpen && reply.status !== 401))
    return { findings, kind: "unusable", challenge, key: undefined, closed: UNUSABLE };
  if (isOpen) await new TrialSession(endpoint, reply).end();
  const kind = isOpen ? "open" : "protected";
  const closed = (why: string) => (isOpen ? undefined : why);
  const without = { findings, kind, challenge, key: undefined } as const;
  if (key === undefined)
    return {
      ...without,
      closed: closed("The server wants a key or token, and none was given: set EDGE_SERVLETS_KEY."),
    };
  if (!isSafe(endpoint))
    return {
      ...without,
      closed: closed("The key is not sent over plain http, where it could be read on the way."),
    };
  const known = await findingsOf("Key", async () => [await keyFinding(endpoint, key)]);
  const all = [...findings, ...known];
  return known.some(({ state }) => state === "wrong")
    ? { ...without, findings: all, closed: closed("The key is refused: see above.") }
    : { ...without, findings: all, key, closed: undefined };
}

function endpointFinding(reply: RpcReply): Finding {
  if (reply.status === 401 && /^basic\b/i.test(reply.headers.get("www-authenticate") ?? ""))
    return wrong(
      NAME,
      "Something in front of the server asks for a user name and a password (Basic), which MCP clients do not send. Let this path pass without.",
    );
  if (reply.status === 401)
    return right(NAME, "Clients must have a key or sign in (status 401 without).");
  if (reply.message?.result !== undefined)
    return right(
      NAME,
      `It answers without a key: anybody who reaches it may call (${DOCS}/access.md).`,
    );
  return wrong(NAME, refusalOf(reply));
}

/** Why an endpoint does not answer as an MCP server, and what to do. */
function refusalOf(reply: HttpReply): string {
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

async function keyFinding(endpoint: URL, key: string): Promise<Finding> {
  const name = "Key";
  const reply = await post(endpoint, initializing(), { headers: bearer(key) });
  const { status, message } = reply;
  if (message?.result === undefined)
    return wrong(
      name,
      status === 401
        ? "The server does not know it (status 401). Check EDGE_SERVLETS_KEY, or make a key: npm run keys -- create NAME, then npm run keys -- push."
        : `The server refuses it with status ${status}.${wordsIn(reply)}`,
    );
  await new TrialSession(endpoint, reply, bearer(key)).end();
  return right(name, "The server knows it.");
}
