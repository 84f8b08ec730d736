/**
 * Documents for discovery before a client connects: the server's card, the catalogue that lists it, and the proof of
 * its domain. They need no credentials, and reveal nothing of what the server offers.
 * https://github.com/modelcontextprotocol/experimental-ext-server-card/blob/main/docs/discovery.md
 */
import { endpointPath } from "../auth/metadata.ts";
import { hexDigest } from "../core/digest.ts";
import type { Json } from "../core/model.ts";
import { percentDecoded, shortened } from "../core/text.ts";
import { LEGACY_VERSIONS, MODERN_VERSIONS } from "./wire/classify.ts";
import type { Introduction } from "./method.ts";

const SCHEMA = "https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json";
const CARD_TYPE = "application/mcp-server-card+json";
const CATALOGUE_TYPE = "application/ai-catalog+json";
/** The longest name of a card, in characters. */
const NAME = 200;
/** The longest title and description of a card, and half of its name, in characters. */
const MOST = 100;

/** The path of the card of the whole server, or of a profile. */
const cardPath = (profile?: string): string => `${endpointPath(profile)}/server-card`;

interface Document {
  type: string;
  /** JSON for a value, plain text for a string; undefined if this server does not have the document. */
  make(server: Introduced, origin: string): Json | string | undefined;
}

/** By path. `/.well-known/mcp/catalog.json` is an earlier name of the catalogue. */
const DOCUMENTS: Readonly<Record<string, Document>> = {
  "/.well-known/ai-catalog.json": { type: CATALOGUE_TYPE, make: catalogueOf("1.0") },
  "/.well-known/mcp/catalog.json": { type: "application/json", make: catalogueOf("draft") },
  "/.well-known/mcp-registry-auth": { type: "text/plain", make: ({ proof }) => proof },
};

/** The paths of the discovery documents of a server with these profiles. */
export const findingPaths = (profiles: readonly string[]): string[] => [
  ...Object.keys(DOCUMENTS),
  ...[undefined, ...profiles].map(cardPath),
];

/** The server as its discovery documents describe it. */
export interface Introduced {
  introduction: Introduction;
  /** The introductions of its profiles, by name. */
  introductions: ReadonlyMap<string, Introduction>;
  /** Its name in registries, in reverse DNS; by default derived from the host. */
  registered: string | undefined;
  /** The proof of the domain for the MCP registry. */
  proof: string | undefined;
}

/** Answers a request for one of `findingPaths`. Its URL must have the server's own origin. */
export async function findingResponse(request: Request, server: Introduced): Promise<Response> {
  const headers = new Headers({
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET",
    "access-control-allow-headers": "Content-Type, If-None-Match",
  });
  if (request.method === "OPTIONS") return new Response(null, { status: 204, headers });
  const { pathname, origin } = new URL(request.url);
  // Decoded as routes are: `%6d` is `m`.
  const path = percentDecoded(pathname).replace(/\/$/, "");
  const { type, make } = DOCUMENTS[path] ?? {
    type: CARD_TYPE,
    make: () => cardOf(server, origin, profileIn(path)),
  };
  const made = make(server, origin);
  if (made === undefined) return new Response("There is none here.\n", { status: 404, headers });
  const text = typeof made === "string" ? made : JSON.stringify(made);
  const etag = `"${(await hexDigest(text)).slice(0, 32)}"`;
  headers.set("etag", etag);
  headers.set("cache-control", "public, max-age=3600");
  headers.set("x-content-type-options", "nosniff");
  const known = request.headers.get("if-none-match") ?? "";
  if (known === "*" || known.split(/,\s*/).some((one) => one.replace(/^W\//, "") === etag))
    return new Response(null, { status: 304, headers });
  headers.set("content-type", `${type}; charset=utf-8`);
  return new Response(request.method === "HEAD" ? null : text, { headers });
}

/** The profile whose card has this path; undefined for the whole server. */
const profileIn = (path: string): string | undefined =>
  /^\/mcp\/([^/]+)\/server-card/.exec(path)?.[1];

function cardOf(server: Introduced, origin: string, profile?: string): Json {
  const { introduction: whole, introductions, registered } = server;
  const { info } = (profile === undefined ? undefined : introductions.get(profile)) ?? whole;
  const { name, version, title, description, websiteUrl, icons } = info;
  const words = [description, title, name].find((one) => typeof one === "string" && one !== "");
  return {
    $schema: SCHEMA,
    name: nameOf(registered ?? nameFor(origin, String(name)), profile),
    version,
    description: shortened(typeof words === "string" ? words : "An MCP server", MOST - 1),
    ...(typeof title === "string" && title !== "" && { title: shortened(title, MOST - 1) }),
    ...(websiteUrl !== undefined && { websiteUrl }),
    ...(Array.isArray(icons) && { icons: icons.map(iconOf) }),
    remotes: [
      {
        type: "streamable-http",
        url: origin + endpointPath(profile),
        supportedProtocolVersions: [...MODERN_VERSIONS, ...LEGACY_VERSIONS],
      },
    ],
  };
}

function catalogueOf(specVersion: string) {
  return (server: Introduced, origin: string): Json => {
    const entries = [undefined, ...server.introductions.keys()].map((profile) => {
      const { name, title } = cardOf(server, origin, profile);
      const [namespace = "", own = ""] = String(name).split("/");
      return {
        identifier: `urn:air:${reversed(namespace)}:${own}`,
        displayName: title ?? own,
        type: CARD_TYPE,
        url: origin + cardPath(profile),
      };
    });
    return { specVersion, entries };
  };
}

/** The name of a server, or of its profile, in the form that registries accept. */
const nameOf = (server: string, profile: string | undefined): string =>
  profile === undefined ? server : `${server.slice(0, NAME - 1 - profile.length)}-${profile}`;

/** The default name on a card: the reversed host, and the server's own name. */
function nameFor(origin: string, name: string): string {
  const host = new URL(origin).hostname;
  const isNamed = /[a-z]/i.test(host) && !host.startsWith("[");
  const namespace = isNamed ? reversed(host) : host.replaceAll(/[^0-9a-f]+/gi, ".");
  const own = name.replaceAll(/[^a-zA-Z0-9._-]+/g, "-") || "server";
  return `${namespace.slice(0, MOST)}/${own.slice(0, MOST - 1)}`;
}

/** An icon with only those members that a card may have. */
const iconOf = ({ src, mimeType, sizes, theme }: Json): Json => ({ src, mimeType, sizes, theme });

const reversed = (name: string): string => name.split(".").toReversed().join(".");
