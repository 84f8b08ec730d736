/** A provider at which people sign in: what all kinds have in common. */
import { Provider, type Granted, type Tokens } from "../../kernel/auth/account-provider.ts";
import { fits } from "../../kernel/core/glob.ts";
import { limits } from "../../kernel/core/limits.ts";
import { isObject, type Json } from "../../kernel/core/model.ts";
import { jsonIn } from "../../kernel/core/text.ts";
import { textWithin } from "../../kernel/http/body.ts";
import type { ProviderSettings } from "../../kernel/settings/oauth-settings.ts";
import { unavailable } from "./refusals.ts";
import type { Facts } from "./rules.ts";
import type { SignInSettings } from "./settings.ts";

/** A person, as the provider knows them now. */
export interface Identity {
  /** Issuer and subject, separated by a space. Stays the same when the person's name, login or address changes. */
  principal: string;
  /** The person's name for people. */
  title: string;
  facts: Facts;
  /** Why the provider did not tell some facts, each with what to do. */
  obstacles: readonly string[];
}

export interface UpstreamParts {
  /** The server's variables and secrets. */
  variables: Readonly<Record<string, string>>;
  /** Remembers the first owners of names. */
  store: KVNamespace;
}

/** What a kind of provider adds to the configured settings of the client. */
export interface KindOfClient {
  issuer: string;
  scopes: readonly string[];
  auth?: ProviderSettings["auth"];
  authorization_endpoint?: string;
  token_endpoint?: string;
  params?: Readonly<Record<string, string>>;
  /** See `Provider`. */
  issuerOf?: (idToken: string) => string;
}

/** A response of a provider's API: a JSON object. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  body: Json;
}

/** A provider at which people sign in, and what it says about them. */
export abstract class Upstream {
  readonly name: string;
  readonly settings: SignInSettings;
  readonly provider: Provider;
  /** The name for people. */
  readonly title: string;
  readonly #store: KVNamespace;
  /** Why nobody can sign in there, with what to do; undefined if people can. */
  readonly problem: string | undefined;

  constructor(
    name: string,
    settings: SignInSettings,
    { variables, store }: UpstreamParts,
    { issuerOf, ...kind }: KindOfClient,
  ) {
    this.name = name;
    this.settings = settings;
    this.title = settings.title ?? TITLES[name] ?? TITLES[settings.type] ?? name;
    this.#store = store;
    const { client_id, client_secret: variable, auth, scopes, params } = settings;
    const secret = variable === undefined ? undefined : variables[variable];
    if (variable !== undefined && secret === undefined)
      this.problem = `The client secret of ${name}, ${variable}, is missing: npx wrangler secret put ${variable}`;
    const client: ProviderSettings = {
      client_id,
      auth,
      ...kind,
      ...(variable !== undefined && { client_secret: variable }),
      scopes: [...kind.scopes, ...scopes],
      params: { ...kind.params, ...params },
    };
    // A provider that refuses a client without its secret counts as down: nobody loses access by that.
    this.provider = new Provider(name, client, secret, { issuerOf });
  }

  /** Parameters of the authorization request that have the provider ask which account to use. */
  get accountChoice(): Readonly<Record<string, string>> {
    return { prompt: "select_account" };
  }

  /** The issuers in principals of this provider. */
  abstract get issuers(): readonly string[];

  /** Globs of the provider's own hosts, for which its tokens are. */
  abstract get hosts(): readonly string[];

  /** Scopes to request besides those of the settings. Throws `unavailable`. */
  async extraScopes(): Promise<readonly string[]> {
    return [];
  }

  /**
   * Who has signed in with this grant, and what the provider says about them. `subject` is the `sub` of an earlier ID
   * token. Throws `unavailable` if the provider cannot be asked, and `forbidden`, with the reason, if it does not know
   * the person, or no longer does.
   */
  abstract identify(granted: Granted, subject?: string): Promise<Identity>;

  /**
   * A grant for the tokens of an earlier sign-in, which are renewed where the provider renews them; undefined if it has
   * ended the sign-in. `store` gets renewed tokens before they are used: the earlier ones are void. Throws
   * `unavailable`.
   */
  abstract renew(
    tokens: Tokens,
    store: (tokens: Tokens) => Promise<void>,
  ): Promise<Granted | undefined>;

  /**
   * Requests a URL of the provider's API with an access token. Throws `unavailable` for what is no answer of an API, such
   * as the page of a proxy: it says nothing about the person.
   */
  protected async request(
    url: string,
    access: string,
    init: Omit<RequestInit, "headers"> & { headers: Record<string, string> },
  ): Promise<ApiResponse> {
    try {
      const { status, headers, body } = await fetch(url, {
        ...init,
        headers: { ...init.headers, authorization: `Bearer ${access}` },
        redirect: "manual",
        signal: AbortSignal.timeout(limits.issuerMs),
      });
      const json = jsonIn((await textWithin(body, limits.issuerBytes)) ?? "");
      if (!isObject(json) || !ANSWERS.has(status))
        throw new Error(`${url} answers with status ${status}, and not as an API does`);
      return { status, headers, body: json };
    } catch (error) {
      throw unavailable(this.title, error);
    }
  }

  /**
   * The id of the first owner of a name that can pass to somebody else (a login, an address, the name of an organization):
   * the id with which it was first seen.
   */
  protected async firstOwnerOf(name: string, id: string): Promise<string> {
    const key = this.keyOf(name);
    const known = await this.#store.get(key);
    if (known === null) await this.#store.put(key, id);
    return known ?? id;
  }

  /** The key in KV of the first owner of a name. */
  protected keyOf(name: string): string {
    return `name:${this.issuers[0]} ${name}`;
  }

  /** True if these hosts of a manifest are all the provider's own, at any port. */
  ownsHosts(hosts: readonly string[]): boolean {
    return hosts.every((host) => {
      const name = host.toLowerCase().replace(/:\d+$/, "");
      // A glob that matches the text of another, asterisks included, has all its hosts.
      return this.hosts.some((own) => fits(own, name));
    });
  }

  /** True for a principal of this provider. */
  owns(principal: string): boolean {
    return this.issuers.some((issuer) => principal.startsWith(`${issuer} `));
  }
}

/** The statuses of answers that say something about a person. */
const ANSWERS: ReadonlySet<number> = new Set([200, 401, 403, 404]);

/** The names by which people know providers, by the entry's name or the type. */
const TITLES: Readonly<Record<string, string>> = {
  github: "GitHub",
  google: "Google",
  entra: "Microsoft",
  okta: "Okta",
  auth0: "Auth0",
  workos: "WorkOS",
  keycloak: "Keycloak",
};
