/** This server as an OAuth client of issuers that ACCOUNTS does not list. */
import * as z from "zod/mini";
import { requestProvider } from "../../kernel/auth/account-provider.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { isObject } from "../../kernel/core/model.ts";
import { once } from "../../kernel/core/once.ts";
import { isRecent } from "../../kernel/core/recent.ts";
import { settled, unsettled, type Settled } from "../../kernel/core/settled.ts";
import { jsonIn } from "../../kernel/core/text.ts";
import { isPrivate } from "../../kernel/http/private-hosts.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import { CLIENT_METHODS, metadataAt, type IssuerMetadata } from "./issuer-metadata.ts";
import { limits } from "./limits.ts";
import { CALLBACK_PATH, OWN_CLIENT_CALLBACK } from "./provider-sign-in.ts";

/** An issuer, and the origin by which this server is its client. */
export interface IssuerAddress {
  issuer: string;
  origin: string;
}

/** The credentials of this server at an issuer. */
export interface IssuedClient {
  id: string;
  /** Absent for a public client. */
  secret?: string;
  auth: "basic" | "post";
  /** Time of the registration, in Unix ms; absent if the id is the URL of the client document. */
  registeredAt?: number;
  /** When the secret expires, in Unix ms. */
  expires?: number;
}

/** The metadata of an issuer, and the credentials of this server there. */
export interface ClientAtIssuer {
  metadata: IssuerMetadata;
  client: IssuedClient;
}

interface Parts {
  kv: SyncKvStorage;
  sealer: Sealer;
  /** The server's title. */
  title: string;
  isSelfHosted: boolean;
}

/** This server as the client of one issuer. It has a Durable Object of its own, so that all callers share one registration. */
export class IssuerClient {
  readonly #at: IssuerAddress;
  readonly #parts: Parts;
  readonly #metadata = new CachedResult<IssuerMetadata>(() => limits.keySetMs);
  readonly #client = new CachedResult<IssuedClient>(({ expires = Infinity }) =>
    Math.max(expires - Date.now(), limits.newRegistrationMs),
  );

  constructor(at: IssuerAddress, parts: Parts) {
    this.#at = at;
    this.#parts = parts;
  }

  /** The issuer's metadata. Throws `unavailable`. */
  metadata(): Promise<IssuerMetadata> {
    return this.#metadata.get(() => metadataAt(this.#at.issuer, this.#parts.isSelfHosted));
  }

  /** The metadata and the credentials. Registers this server if it has none. Throws `unavailable`. */
  async find(): Promise<ClientAtIssuer> {
    const metadata = await this.metadata();
    if (this.#takesDocument(metadata)) {
      const id = this.#at.origin + CLIENT_DOCUMENT_PATH;
      return { metadata, client: { id, auth: "basic" } };
    }
    const client = await this.#client.get(async () => {
      const stored = await this.#stored();
      const isOver = (stored?.expires ?? Infinity) <= Date.now() && !isNew(stored);
      return stored === undefined || isOver ? this.#register(metadata) : stored;
    });
    return { metadata, client };
  }

  /** Deletes the registration with this id, which the issuer no longer accepts. */
  async drop(id: string): Promise<void> {
    const client = await this.#stored();
    if (client?.id !== id || isNew(client)) return;
    this.#parts.kv.delete(CLIENT);
    this.#client.forget();
  }

  /** True if the issuer can fetch the client's document: https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document */
  #takesDocument(metadata: IssuerMetadata): boolean {
    const [own, issuer] = [new URL(this.#at.origin), new URL(this.#at.issuer)];
    const isReachable = !isPrivate(own.hostname) || isPrivate(issuer.hostname);
    return (
      metadata.client_id_metadata_document_supported === true &&
      own.protocol === "https:" &&
      isReachable
    );
  }

  async #stored(): Promise<IssuedClient | undefined> {
    const { kv, sealer } = this.#parts;
    const sealed = kv.get<string>(CLIENT);
    if (sealed === undefined) return undefined;
    return (await sealer.openText(sealed, CLIENT)) as IssuedClient | undefined;
  }

  /** https://www.rfc-editor.org/rfc/rfc7591#section-3 */
  async #register(metadata: IssuerMetadata): Promise<IssuedClient> {
    const { registration_endpoint: address } = metadata;
    const { kv, sealer, title } = this.#parts;
    if (address === undefined) throw this.#unregistered("registers no clients by itself");
    const supported = metadata.token_endpoint_auth_methods_supported ?? CLIENT_METHODS;
    const asked = CLIENT_METHODS.find((one) => supported.includes(one));
    if (asked === undefined)
      throw this.#unregistered("supports no way to authenticate that this server has");
    const described = {
      ...descriptionOf(this.#at.origin, title),
      token_endpoint_auth_method: asked,
    };
    const response = await requestProvider(address, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(described),
    }).catch((cause: unknown) => {
      const message = `${this.#host} did not register this server. Try again later.`;
      throw new Fault("unavailable", message, { cause });
    });
    const body = jsonIn(await response.text());
    // Some answer with 200.
    const isMade = response.status === 201 || response.status === 200;
    const read = isMade ? registrationSchema().safeParse(body) : undefined;
    if (!read?.success) throw this.#unregistered(`did not register this server${codeOf(body)}`);
    const {
      client_id: id,
      client_secret: secret,
      client_secret_expires_at: seconds,
      ...given
    } = read.data;
    const client: IssuedClient = {
      id,
      auth: authOf(given.token_endpoint_auth_method ?? asked, supported),
      registeredAt: Date.now(),
      ...(secret !== undefined && { secret }),
      ...(secret !== undefined && seconds > 0 && { expires: seconds * 1000 }),
    };
    kv.put(CLIENT, await sealer.sealText(client, CLIENT));
    return client;
  }

  get #host(): string {
    return `The issuer ${new URL(this.#at.issuer).host}`;
  }

  #unregistered(why: string): Fault {
    const { issuer, origin } = this.#at;
    return new Fault(
      "unavailable",
      `${this.#host} ${why}. The operator of this server must register it there as an app, with the redirect URI ${origin}${CALLBACK_PATH}, and add the account to ACCOUNTS with the issuer ${issuer} and the client_id.`,
    );
  }
}

/** A cached result: a value for a time of its own, a failure for `limits.issuerFailureMs`. Concurrent callers share one attempt. */
class CachedResult<T> {
  readonly #ms: (value: T) => number;
  #cached: { at: number; ms: number; result: Promise<Settled<T>> } | undefined;

  constructor(ms: (value: T) => number) {
    this.#ms = ms;
  }

  async get(work: () => Promise<T>): Promise<T> {
    let cached = this.#cached;
    if (cached === undefined || !isRecent(cached.at, cached.ms)) {
      cached = { at: Date.now(), ms: Infinity, result: settled(work) };
      this.#cached = cached;
      const result = await cached.result;
      cached.at = Date.now();
      cached.ms = "value" in result ? this.#ms(result.value) : limits.issuerFailureMs;
    }
    return unsettled(await cached.result);
  }

  forget(): void {
    this.#cached = undefined;
  }
}

/** True for a recent registration, which is kept even if the issuer refuses it: a new one would be refused, too. */
const isNew = (client: IssuedClient | undefined): boolean =>
  isRecent(client?.registeredAt ?? 0, limits.newRegistrationMs);

/** The path of this server's client document, whose URL is its id at issuers that fetch it. */
export const CLIENT_DOCUMENT_PATH = "/account/client.json";

/** This server's client document at this origin. */
export const clientDocument = (origin: string, title: string): object => ({
  client_id: origin + CLIENT_DOCUMENT_PATH,
  client_uri: origin,
  ...descriptionOf(origin, title),
  token_endpoint_auth_method: "none",
});

/** https://www.rfc-editor.org/rfc/rfc7591#section-2 */
const descriptionOf = (origin: string, title: string) => ({
  client_name: title,
  redirect_uris: [origin + OWN_CLIENT_CALLBACK],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  application_type: origin.startsWith("https:") ? "web" : "native",
});

/** How the client secret is sent. An issuer that gives a public client a secret expects it. */
function authOf(method: string, supported: readonly string[]): IssuedClient["auth"] {
  if (method === "client_secret_post") return "post";
  const hasBasic = method === "client_secret_basic" || supported.includes("client_secret_basic");
  return hasBasic ? "basic" : "post";
}

/** https://www.rfc-editor.org/rfc/rfc6749#appendix-A */
const credential = () => z.string().check(z.regex(/^[ -~]{1,4096}$/));

const registrationSchema = once(() =>
  z.object({
    client_id: credential(),
    client_secret: z.optional(credential()),
    client_secret_expires_at: z._default(z.number(), 0),
    token_endpoint_auth_method: z.optional(z.enum(CLIENT_METHODS)),
  }),
);

/** The error code of a refused registration, for a message. */
function codeOf(body: unknown): string {
  const code = isObject(body) ? body["error"] : undefined;
  return typeof code === "string" && /^[a-z_]{1,64}$/.test(code) ? ` (${code})` : "";
}

/** The storage key of the sealed registration, and the place that it is sealed for. */
const CLIENT = "client";

/** The name of the Durable Object for the client of an issuer. No principal has such a name. */
export const clientObjectName = ({ issuer, origin }: IssuerAddress): string =>
  `client of ${origin} at ${issuer}`;
