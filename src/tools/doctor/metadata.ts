/** The documents by which clients learn how to sign in, at every place where some client looks. */
import type { Json } from "../../server/kernel/core/model.ts";
import { textIn } from "../../server/kernel/core/text.ts";
import { isSafe } from "../../server/kernel/http/private-hosts.ts";
import { DOCS } from "../bundle/own.ts";
import { notTried, quoted, right, Unreachable, wrong, type Finding } from "./finding.ts";
import { objectIn, send } from "./requests.ts";

const RESOURCE = "/.well-known/oauth-protected-resource";
const SERVER = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";

/** A place where a document may be. */
interface Found {
  url: URL;
  /** Undefined if there is no JSON object. */
  document: Json | undefined;
}

/** What a client needs of an authorization server. */
export interface SignInServer {
  authorization: URL;
  registration: URL | undefined;
}

/** What the documents say, and what is wrong with them. */
interface FoundSignIn {
  findings: readonly Finding[];
  /** Undefined if nobody can sign in. */
  server?: SignInServer | undefined;
}

async function documentAt(url: URL): Promise<Found> {
  const reply = await send(url, { headers: { accept: "application/json" } });
  return { url, document: reply.status === 200 ? objectIn(reply) : undefined };
}

/** The documents at some paths of an origin; a path that is named twice is asked once. */
const documentsAt = (origin: URL, paths: readonly string[]): Promise<Found[]> =>
  Promise.all([...new Set(paths)].map((path) => documentAt(new URL(path, origin))));

/** Paths of a URL's metadata: before its path, as RFC 8414 and 9728 have it, behind it, and at the root. */
function placesOf(
  name: string,
  { pathname }: URL,
): { first: string; behind: string; root: string } {
  const path = pathname.replace(/\/$/, "");
  return { first: name + (path === "" ? "" : pathname), behind: path + name, root: name };
}

/** Reads all documents. `challenge` is the `WWW-Authenticate` header of the refused request. */
export async function signInAt(endpoint: URL, challenge: string): Promise<FoundSignIn> {
  const resource = await resourceAt(endpoint, challenge);
  if (resource.issuers.length === 0) return { findings: resource.findings };
  const servers = await Promise.all(resource.issuers.map((issuer) => serverAt(issuer, endpoint)));
  return {
    findings: [...resource.findings, ...servers.flatMap(({ findings }) => findings)],
    server: servers.find(({ server }) => server !== undefined)?.server,
  };
}

/** The protected resource metadata. https://www.rfc-editor.org/rfc/rfc9728 */
async function resourceAt(
  endpoint: URL,
  challenge: string,
): Promise<{ findings: Finding[]; issuers: string[] }> {
  const name = "Resource metadata";
  const { first, behind, root } = placesOf(RESOURCE, endpoint);
  const all = await documentsAt(endpoint, [first, root, behind]);
  const there = all.filter(({ document }) => document !== undefined);
  const named = /resource_metadata="?([^",\s]*)/i.exec(challenge)?.[1];
  if (there.length === 0 && named === undefined)
    return {
      findings: [
        notTried(
          "Sign-in",
          `The server takes keys alone: it names no authorization server (no ${RESOURCE}). Clients that can only sign in, such as Claude's and ChatGPT's connectors, need one: ${DOCS}/access.md.`,
        ),
      ],
      issuers: [],
    };
  const header = await headerFinding(named, endpoint);
  const missing = all
    .filter(({ document }) => document === undefined)
    .map(({ url }) => url.pathname);
  const isFound = !missing.includes(first) || !missing.includes(root);
  const findings = [
    header.finding,
    isFound
      ? right(
          name,
          `It is at ${list(there)}${missing.length === 0 ? ", where clients look" : `, and not at ${missing.join(", ")}, where few clients look`}.`,
        )
      : wrong(
          name,
          `It is neither at ${first} nor at ${root}: clients that go by the path alone cannot sign in. Serve it there.`,
        ),
    ...resourceFaults(there, endpoint, root),
  ];
  const issuers = new Set(
    [...there, ...header.found].flatMap(({ document }) => issuersIn(document).slice(0, 3)),
  );
  if (issuers.size === 0)
    findings.push(
      wrong(
        name,
        "It names no authorization_servers, so clients do not know where to sign in. Name at least one.",
      ),
    );
  return { findings, issuers: [...issuers] };
}

const list = (found: readonly Found[]) => found.map(({ url }) => url.pathname).join(", ");

/** The issuers that a document names. */
function issuersIn(document: Json | undefined): string[] {
  const { authorization_servers: servers } = document ?? {};
  return Array.isArray(servers) ? servers.map(textIn).filter(Boolean) : [];
}

/** The document that the challenge of a refused request leads to. */
async function headerFinding(
  named: string | undefined,
  endpoint: URL,
): Promise<{ finding: Finding; found: Found[] }> {
  const name = "WWW-Authenticate";
  if (named === undefined)
    return {
      finding: wrong(
        name,
        "The refusal (status 401) has no WWW-Authenticate header with resource_metadata, which newer clients start from. Have the server send one, and the proxy pass it on.",
      ),
      found: [],
    };
  const url = URL.parse(named, endpoint);
  if (url === null || !/^https?:$/.test(url.protocol))
    return {
      finding: wrong(name, `Its resource_metadata ${quoted(named)} is not a URL.`),
      found: [],
    };
  const found = await documentAt(url);
  const { resource } = found.document ?? {};
  if (resource === endpoint.href)
    return { finding: right(name, `It leads to ${url.href}.`), found: [found] };
  return {
    finding: wrong(
      name,
      found.document === undefined
        ? `Its resource_metadata leads to ${url.href}, where there is no JSON document. Check the public URL that the server is told (PUBLIC_URL).`
        : `Its resource_metadata leads to a document for ${quoted(textIn(resource))}, and not for ${endpoint.href}: strict clients stop there. Check the public URL that the server is told (PUBLIC_URL).`,
    ),
    found: found.document === undefined ? [] : [found],
  };
}

/**
 * The documents that are for another resource. At the root one may also be for the origin; behind the endpoint's path it
 * has no slash at its end.
 */
function resourceFaults(there: readonly Found[], endpoint: URL, root: string): Finding[] {
  const { href, origin } = endpoint;
  const others = there.filter(({ url, document }) => {
    const isBehind = url.pathname.endsWith(RESOURCE);
    const also =
      url.pathname === root ? [origin, `${origin}/`] : isBehind ? [href.replace(/\/$/, "")] : [];
    return ![href, ...also].includes(textIn(document!["resource"]));
  });
  const byResource = Map.groupBy(others, ({ document }) => textIn(document!["resource"]));
  return [...byResource].map(([resource, found]) =>
    wrong(
      "Resource metadata",
      `What is at ${list(found)} is for ${quoted(resource)}, and not for ${href}: clients that compare them (VS Code, Gemini CLI) refuse to sign in. Check the public URL that the server is told (PUBLIC_URL).`,
    ),
  );
}

/** An authorization server's metadata. https://www.rfc-editor.org/rfc/rfc8414 */
async function serverAt(given: string, endpoint: URL): Promise<FoundSignIn> {
  const name = "Authorization server";
  const issuer = URL.parse(given);
  if (issuer === null || !isSafe(issuer))
    return {
      findings: [wrong(name, `${quoted(given)} is not an https URL, so no client signs in there.`)],
    };
  // Clients up to 2025-03-26 look at the server's own origin, below its endpoint, too.
  const own = issuer.origin === endpoint.origin && issuer.pathname === "/" ? [endpoint] : [];
  const paths = [issuer, ...own].flatMap((one) => {
    const [server, openid] = [placesOf(SERVER, one), placesOf(OPENID, one)];
    return [server.first, openid.first, openid.behind, ...(own.length > 0 ? [server.behind] : [])];
  });
  let all: Found[];
  try {
    all = await documentsAt(issuer, paths);
  } catch (error) {
    if (error instanceof Unreachable) return { findings: [wrong(name, error.message)] };
    throw error;
  }
  const there = all.filter(({ document }) => document !== undefined);
  const [best] = there;
  if (best === undefined)
    return {
      findings: [
        wrong(
          name,
          `${given} has no metadata at ${paths.join(", ")}. Check the issuer's URL, and that it is reachable from outside.`,
        ),
      ],
    };
  const missing = all
    .filter(({ document }) => document === undefined)
    .map(({ url }) => url.pathname);
  const faults = there.flatMap((found) => serverFaults(found, given));
  const withoutPkce = there.filter(({ document }) => !hasPkce(document!));
  const differing = there.filter(({ document }) => isOther(document!, best.document!));
  const where = missing.length === 0 ? "all places where clients look" : list(there);
  return {
    findings: [
      right(
        name,
        `${given} has its metadata at ${where}${missing.length === 0 ? "" : ` (not at ${missing.join(", ")})`}.`,
      ),
      ...faults,
      ...differing.map(({ url }) =>
        wrong(
          name,
          `${url.pathname} names other endpoints than ${best.url.pathname}, so clients end up in different places. Serve one document at both.`,
        ),
      ),
      withoutPkce.length === 0
        ? right(PKCE, "code_challenge_methods_supported has S256.")
        : wrong(
            PKCE,
            `code_challenge_methods_supported has no S256 (${list(withoutPkce)}), so MCP clients refuse to sign in. Switch PKCE on at the authorization server, and name S256.`,
          ),
      waysIn(best.document!),
    ],
    server: usableServer(best.document!),
  };
}

const ENDPOINTS = ["authorization_endpoint", "token_endpoint", "registration_endpoint"];

const isOther = (one: Json, other: Json): boolean =>
  ENDPOINTS.some(
    (name) => one[name] !== undefined && other[name] !== undefined && one[name] !== other[name],
  );

const PKCE = "PKCE";

const hasPkce = ({ code_challenge_methods_supported: methods }: Json): boolean =>
  Array.isArray(methods) && methods.includes("S256");

/** What keeps clients from using a document of an authorization server. */
function serverFaults({ url, document }: Found, issuer: string): Finding[] {
  const name = "Authorization server";
  const { issuer: own } = document!;
  const faults: Finding[] = [];
  if (own !== issuer)
    faults.push(
      wrong(
        name,
        `The issuer in ${url.pathname} is ${quoted(textIn(own))}, and ${issuer} in the resource metadata: clients refuse it. Name both letter by letter the same.`,
      ),
    );
  for (const one of ENDPOINTS) {
    const value = document![one];
    if (value === undefined && one === "registration_endpoint") continue;
    const endpoint = URL.parse(textIn(value));
    if (endpoint === null || !isSafe(endpoint))
      faults.push(
        wrong(
          name,
          `${one} in ${url.pathname} is ${value === undefined ? "missing" : `${quoted(textIn(value))}, which is not an https URL`}. Clients cannot sign in without.`,
        ),
      );
  }
  return faults;
}

/** How clients become known to the authorization server. */
function waysIn(document: Json): Finding {
  const name = "Client identity";
  const ways = [
    ...(document["client_id_metadata_document_supported"] === true
      ? ["name themselves by the URL of a document (CIMD), as Claude does"]
      : []),
    ...(document["registration_endpoint"] === undefined ? [] : ["register (RFC 7591)"]),
  ];
  return ways.length > 0
    ? right(name, `Clients may ${ways.join(", or ")}.`)
    : wrong(
        name,
        "Clients can neither register nor name themselves by a document, so each must be given a client ID by hand. Switch on dynamic client registration or client ID metadata documents.",
      );
}

function usableServer(document: Json): SignInServer | undefined {
  const urlIn = (name: string) => {
    const url = URL.parse(textIn(document[name]));
    return url !== null && isSafe(url) ? url : undefined;
  };
  const authorization = urlIn("authorization_endpoint");
  return (
    authorization && {
      authorization,
      registration: urlIn("registration_endpoint"),
    }
  );
}
