/**
 * Clients whose id is the URL of a metadata document. The library would fetch the document from any host and port,
 * follow redirects, fetch the keys that it names, all for each request, and accepts no other `fetch`. So it is
 * configured to look up all clients in its store, and its store also returns these.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#client-id-metadata-documents
 */
import type { ClientInfo } from "@cloudflare/workers-oauth-provider";
import * as z from "zod/mini";
import { once } from "../../kernel/core/once.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { isRecent } from "../../kernel/core/recent.ts";
import { limits } from "./limits.ts";
import { isPrivate } from "../../kernel/http/private-hosts.ts";
import { fetchJson, type Fetch } from "../../kernel/auth/fetch-json.ts";

/** Size of a client's metadata document, as the draft recommends. https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document */
const DOCUMENT_BYTES = 5 * 1024;

/** Prefix of the ids of such clients. */
const SCHEME = "https://";
const KEY = "client:";

export const isDocumentUrl = (clientId: string): boolean => clientId.startsWith(SCHEME);

const documentSchema = once(() =>
  z.object({
    client_id: z.string(),
    client_name: z.string().check(z.regex(/\S/, "is empty")),
    redirect_uris: z.array(z.string()).check(z.minLength(1)),
    grant_types: z._default(z.array(z.string()), ["authorization_code"]),
    response_types: z._default(z.array(z.string()), ["code"]),
    token_endpoint_auth_method: z._default(z.string(), "none"),
    token_endpoint_auth_methods_supported: z.optional(z.array(z.string())),
    client_secret: z.optional(z.undefined("does not belong in a public document")),
  }),
);

/** The outcome of fetching a document: its client, or the reason for refusing it. */
interface Found {
  result: ClientInfo | Fault;
  /** When it was fetched, in Unix ms, and how long it is cached. */
  at: number;
  ms: number;
}

/** Fetches and caches clients' metadata documents. */
export class ClientDocuments {
  readonly #found = new Map<string, Found>();
  readonly #fetch: Fetch;

  constructor(fetch: Fetch) {
    this.#fetch = fetch;
  }

  /** The client with this id. `admit` counts a fetch. Throws `invalid_request`, and what `admit` throws. */
  async find(id: string, admit: () => Promise<void>): Promise<ClientInfo> {
    let found = this.#found.get(id);
    if (found === undefined || !isRecent(found.at, found.ms)) {
      checkUrl(id);
      await admit();
      found = await this.#load(id);
      this.#found.delete(id);
      const [oldest] = this.#found.keys();
      if (this.#found.size >= limits.documents && oldest !== undefined) this.#found.delete(oldest);
      this.#found.set(id, found);
    }
    if (found.result instanceof Fault) throw found.result;
    return found.result;
  }

  async #load(id: string): Promise<Found> {
    const at = Date.now();
    try {
      const document = await fetchJson(this.#fetch, id, DOCUMENT_BYTES).catch(() => {
        throw new Error(
          `its URL does not answer within ${limits.issuerMs / 1000} seconds, without a redirect, with JSON of at most ${DOCUMENT_BYTES} bytes`,
        );
      });
      return { result: clientOf(id, document), at, ms: limits.documentMs };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const message = `The metadata document of the app at ${new URL(id).host} cannot be used: ${why}. Try again in a minute, or tell the app's maker.`;
      const result = new Fault("invalid_request", message);
      return { result, at, ms: limits.documentRetryMs };
    }
  }
}

/** Throws `invalid_request` unless this is the plain URL of a document on a public host, on the port of https. */
function checkUrl(id: string): void {
  const url = URL.canParse(id) ? new URL(id) : undefined;
  const isPlain =
    // `URL` normalizes dot segments, upper case and a default port.
    url?.href === id && !url.username && !url.password && !id.includes("#") && url.port === "";
  if (isPlain && !isPrivate(url.hostname)) return;
  throw new Fault(
    "invalid_request",
    "The client_id is not a valid URL of a metadata document. Use https, a public host without a port, a path and no fragment.",
  );
}

/** The grant types of clients that people approve. */
export const GRANT_TYPES = new Set(["authorization_code", "refresh_token"]);

/** Parses a document. Throws an error that names the invalid part. */
function clientOf(id: string, value: unknown): ClientInfo {
  const read = documentSchema().safeParse(value);
  if (!read.success) {
    const [{ path, message }] = read.error.issues as [z.core.$ZodIssue];
    throw new Error([...path, message].join(" "));
  }
  const { client_id, client_name, redirect_uris, grant_types, response_types, ...auth } = read.data;
  if (client_id !== id) throw new Error("its client_id is not its URL");
  const methods = auth.token_endpoint_auth_methods_supported ?? [auth.token_endpoint_auth_method];
  if (!methods.includes("none")) {
    throw new Error("the app does not support the token endpoint authentication method none");
  }
  return {
    clientId: id,
    clientName: client_name,
    redirectUris: redirect_uris,
    grantTypes: grant_types.filter((type) => GRANT_TYPES.has(type)),
    responseTypes: response_types.filter((type) => type === "code"),
    tokenEndpointAuthMethod: "none",
  };
}

/**
 * The store for the library: `find` returns the clients with a document. Keys that are too long for the platform,
 * which would throw, have no value.
 */
export function storeWith(
  store: KVNamespace,
  find: (clientId: string) => Promise<ClientInfo>,
): KVNamespace {
  const get = async (key: string, options: KVNamespaceGetOptions<"json">) => {
    if (new TextEncoder().encode(key).length > limits.storeKeyBytes) return null;
    if (key.startsWith(KEY + SCHEME)) return find(key.slice(KEY.length));
    return store.get(key, options);
  };
  return withMethods(store, { get });
}

/** The store with some of its methods replaced. */
export const withMethods = (store: KVNamespace, methods: object): KVNamespace =>
  new Proxy(store, {
    get(_, name): unknown {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name);
      const member: unknown = Reflect.get(store, name);
      return typeof member === "function" ? member.bind(store) : member;
    },
  });

/** The client as it was stored when the owner approved it. */
export const storedClient = (store: KVNamespace, id: string): Promise<ClientInfo | null> =>
  store.get(KEY + id, "json");

/** Stores an approved client, so that its token requests need no fetch. They renew it like a registered client. */
export const storeClient = (store: KVNamespace, client: ClientInfo): Promise<void> => {
  const expirationTtl = limits.refreshTokenMs / 1000;
  const registrationExpiresAt = Math.floor(Date.now() / 1000) + expirationTtl;
  const stored = { ...client, registrationExpiresAt };
  return store.put(KEY + client.clientId, JSON.stringify(stored), { expirationTtl });
};
