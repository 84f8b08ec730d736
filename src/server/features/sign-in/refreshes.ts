import { blake2b } from "@noble/hashes/blake2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { hexDigestNow } from "../../kernel/core/digest.ts";
import type { Grant, GrantState } from "./grant.ts";
import { report } from "../../kernel/core/errors.ts";
import { sealingWith } from "../../kernel/files/sealing.ts";
import { limits } from "./limits.ts";
import { printable, shortened } from "../../kernel/core/text.ts";
import { invalidGrant } from "./authorization-refusals.ts";
import { withMethods } from "./client-documents.ts";
import { basicClient } from "./token-requests.ts";

/** Serves a token request from this store. */
type Serve = (request: Request, store: KVNamespace) => Promise<Response>;
type Put = [key: string, value: string, options?: KVNamespacePutOptions];

export interface RefreshesOptions {
  store: KVNamespace;
  grants: DurableObjectNamespace<Grant>;
  /** The hash of the passphrase, if there is one: changing it ends the owner's grants. */
  passphrase: string | undefined;
  /** Called with the prefix of tokens when some of them have ended. */
  onEnd(prefix: string): void;
}

/** A request with a refresh token, or a token to revoke. */
interface TokenRequest {
  request: Request;
  form: URLSearchParams;
  serve: Serve;
  passphrase: string | undefined;
  token: string;
  /** The grant that the token names: its key in the store, and its object. */
  key: string;
  grant: DurableObjectStub<Grant>;
}

/**
 * Refreshes and revocations. The library keeps grants in KV, where concurrent refreshes overwrite each other, and forgets old
 * tokens. Here the grant's object decides which request uses a refresh token. For `limits.keptRefreshMs` the same request
 * gets the same answer; a later use of the token by its client ends the grant.
 * https://www.rfc-editor.org/rfc/rfc9700#section-4.14.2
 */
export class Refreshes {
  readonly #store: KVNamespace;
  readonly #grants: DurableObjectNamespace<Grant>;
  readonly #passphrase: string | undefined;

  constructor({ store, grants, passphrase, onEnd }: RefreshesOptions) {
    this.#passphrase = passphrase;
    this.#grants = grants;
    this.#store = withMethods(store, {
      delete: async (key: string) => {
        const [kind, user, id] = key.split(":");
        const tokens = `${user}:${id}:`;
        if (kind === "grant") await grants.getByName(key).end(`token:${tokens}`);
        await store.delete(key);
        onEnd(tokens);
      },
    });
  }

  /** Answers a request with this form at the token endpoint. */
  async answer(request: Request, form: URLSearchParams, serve: Serve): Promise<Response> {
    const isRefresh = form.get("grant_type") === "refresh_token";
    const token = form.get(isRefresh ? "refresh_token" : "token") ?? "";
    const key = grantKey(token);
    const stored = key && (await this.#store.get(key));
    // Invented grants get no object.
    if (!key || !stored) return serve(request, this.#store);
    const grant = this.#grants.getByName(key);
    const state = await grant.state(idOf(token));
    const { isOver, record = stored } = state;
    const asked = { request, form, serve, passphrase: this.#passphrase, token, key, grant };
    if (isRefresh && state.used !== undefined) return this.#reuse(asked, state);
    const store = this.#showing(asked, isOver ? undefined : record, state);
    return isRefresh ? this.#refresh(asked, store) : serve(request, store);
  }

  /** The store with this record for the grant. A used token appears as its previous one, so that it can be revoked. */
  #showing(
    { key, token }: TokenRequest,
    record: string | undefined,
    { used }: GrantState,
  ): KVNamespace {
    const previous = used && { previousRefreshTokenId: idOf(token) };
    return withMethods(this.#store, {
      get: async (name: string, options: KVNamespaceGetOptions<"json">) => {
        if (name !== key) return this.#store.get(name, options);
        return record === undefined ? null : { ...(JSON.parse(record) as object), ...previous };
      },
    });
  }

  async #refresh(asked: TokenRequest, shown: KVNamespace): Promise<Response> {
    const { key, token, grant } = asked;
    let written: Put | undefined;
    let accessKey = "";
    const put = async (...write: Put) => {
      const [name] = write;
      if (name === key) return void (written = write);
      // The library also writes a client whose registration ends soon.
      if (name.startsWith("token:")) accessKey = name;
      await this.#store.put(...write);
    };
    const response = await asked.serve(asked.request, withMethods(shown, { put }));
    if (!response.ok || written === undefined) return response;
    const [, record, options] = written;
    const answer = utf8ToBytes(await response.clone().text());
    const state = await grant.refresh(idOf(token), {
      record,
      expires: (options?.expiration ?? 0) * 1000,
      answer: new Uint8Array(sealingOf(token).seal(answer, termsOf(asked))),
    });
    if (state !== undefined) {
      // Another request with this token was faster, or has ended the grant.
      await this.#store.delete(accessKey);
      return earlierAnswer(asked, state);
    }
    // The object has the record: only the expiry in KV matters.
    await this.#store.put(...written).catch((error: unknown) => void report(error));
    return response;
  }

  /**
   * Answers a refresh with a used token. Only the grant's own client gets an answer or ends the grant: a stolen token
   * alone must not sign anybody out.
   */
  async #reuse(asked: TokenRequest, state: GrantState): Promise<Response> {
    const { form, token, grant, serve } = asked;
    const { used } = state;
    // By a revocation the library authenticates the client, and ends the grant if it is that client's. "-" is no token.
    const revocation = new URLSearchParams(form);
    for (const name of ["grant_type", "refresh_token", "scope", "resource"])
      revocation.delete(name);
    revocation.set("token", used?.answer === undefined ? token : "-");
    const { url, method, headers } = asked.request;
    const request = new Request(url, { method, headers, body: revocation });
    const response = await serve(request, this.#showing(asked, state.record, state));
    if (!response.ok) return response;
    if (used?.answer !== undefined || !(await grant.state(idOf(token))).isOver)
      return earlierAnswer(asked, state);
    const seconds = Math.round((Date.now() - (used?.at ?? 0)) / 1000);
    console.warn(
      `The app ${printable(shortened(clientOf(asked), limits.idCharacters))} has used a refresh token again, ${seconds} seconds after it was replaced. Somebody may have a copy, so this sign-in was ended. Its user signs in again.`,
    );
    return invalidGrant(
      "The refresh token was replaced by a newer one some time ago, and may have been copied, so this sign-in was ended. Sign in again.",
    );
  }
}

/** The earlier answer if the request is the same; otherwise a refusal. */
function earlierAnswer(asked: TokenRequest, { used }: GrantState): Response {
  try {
    const sealed = used?.answer ?? new Uint8Array();
    const opened = sealingOf(asked.token).open(sealed, termsOf(asked));
    const answer = JSON.parse(new TextDecoder().decode(opened)) as { expires_in: number };
    const age = Math.floor((Date.now() - (used?.at ?? 0)) / 1000);
    return Response.json(
      { ...answer, expires_in: answer.expires_in - age },
      { headers: { "cache-control": "no-store", pragma: "no-cache" } },
    );
  } catch {
    return invalidGrant(
      "The refresh token was used by another request. Use the newest refresh token of this app, or sign in again.",
    );
  }
}

/** The key of the grant that a token names; undefined for a malformed token. */
function grantKey(token: string): string | undefined {
  const [user, id, secret, ...more] = token.split(":");
  const key = `grant:${user}:${id}`;
  const isToken = secret && more.length === 0 && utf8ToBytes(key).length <= limits.storeKeyBytes;
  return isToken ? key : undefined;
}

/** A token's id, as the library computes it. */
const idOf = hexDigestNow;

/** Seals under a key that only holders of the token know: its id is another hash. */
const sealingOf = (token: string) => sealingWith(blake2b(utf8ToBytes(token), { dkLen: 32 }));

const clientOf = ({ form, request }: TokenRequest): string =>
  form.get("client_id") ?? basicClient(request) ?? "";

/** The parts of a request that must be equal for the same answer. */
function termsOf(asked: TokenRequest): string {
  const scopes = asked.form.getAll("scope").flatMap((scope) => scope.split(" "));
  return JSON.stringify([
    asked.passphrase,
    clientOf(asked),
    [...new Set(scopes)].toSorted(),
    asked.form.getAll("resource").toSorted(),
  ]);
}
