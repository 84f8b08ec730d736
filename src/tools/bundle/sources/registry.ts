/** One repository of a container registry: https://github.com/opencontainers/distribution-spec/blob/main/spec.md */
import * as z from "zod";
import { limits } from "../limits.ts";
import { jsonIn } from "../../../server/kernel/core/text.ts";
import { isLoopback } from "../../../server/kernel/http/private-hosts.ts";
import { Refusal } from "../refusal.ts";
import { registryCredentialsFor, type Credentials } from "./credentials.ts";
import { bodyOf, requestSource, withoutQuery, type SourceResponse } from "./http.ts";
import { ociDigestOf } from "./lock.ts";

export const INDEX = "application/vnd.oci.image.index.v1+json";
const ACCEPTED = [
  INDEX,
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

const descriptorSchema = z.object({
  mediaType: z.string(),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$|^sha512:[0-9a-f]{128}$/),
  size: z.number().nonnegative(),
  artifactType: z.string().optional(),
  platform: z.object({ architecture: z.string(), os: z.string() }).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});

const manifestSchema = z.object({
  artifactType: z.string().optional(),
  manifests: z.array(descriptorSchema).optional(),
  layers: z.array(descriptorSchema).optional(),
});

export type OciDescriptor = z.infer<typeof descriptorSchema>;
export type OciManifest = z.infer<typeof manifestSchema>;

/** A parsed `oci://` source. */
interface OciReference {
  registry: URL;
  repository: string;
  tag: string;
  digest?: string;
}

/**
 * Token services on another host than their registry, as `REGISTRY=HOST/SERVICE`. The environment variable
 * `TOKEN_SERVICES` adds to the list. Without this list, a registry could name the token service of another registry,
 * and get tokens for the user's login there.
 */
const TOKEN_SERVICES =
  "registry-1.docker.io=auth.docker.io/registry.docker.io registry.gitlab.com=gitlab.com/container_registry";

/**
 * The services for which a registry may get tokens from the token service at this host; undefined for all, if it is the
 * registry's own host. Throws a `Refusal` if `TOKEN_SERVICES` is invalid.
 */
function servicesAt(host: string, registry: string): string[] | undefined {
  const named = `${process.env["TOKEN_SERVICES"] ?? ""} ${TOKEN_SERVICES}`.trim().split(/[\s,]+/);
  const wrong = named.find((pair) => !/^[\w.:[\]-]+=[\w.:[\]-]+(\/[\w.:-]+)?$/.test(pair));
  if (wrong !== undefined) {
    throw new Refusal(
      `TOKEN_SERVICES: ${wrong} is not valid: expected REGISTRY=HOST or REGISTRY=HOST/SERVICE, such as registry.example.com=gitlab.example.com/container_registry: correct it`,
    );
  }
  if (host === registry) return undefined;
  const own = named.filter((pair) => `${pair}/`.startsWith(`${registry}=${host}/`));
  return own.map((pair) => pair.split("/")[1] ?? registry);
}

/** Parses `oci://HOST/REPOSITORY:TAG` or `…@DIGEST`; the default host is Docker Hub's. Throws a `Refusal`. */
export function parseReference(source: string): OciReference {
  const [, path = "", tag = "latest", digest] =
    /^oci:\/\/(.+?)(?::([\w][\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}))?$/.exec(
      source,
    ) ?? [];
  const [first = "", ...rest] = path.split("/");
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const named = isHost ? first : "docker.io";
  const host = ["docker.io", "index.docker.io"].includes(named) ? "registry-1.docker.io" : named;
  const inHub = rest.length === 0 ? `library/${first}` : path;
  const repository = isHost ? rest.join("/") : inHub;
  const name = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
  if (!URL.canParse(`https://${host}`) || !repository.split("/").every((part) => name.test(part))) {
    throw new Refusal(
      `${source}: it is not an image: write oci://HOST/REPOSITORY:TAG, or @sha256:… instead of the tag`,
    );
  }
  const url = new URL(`https://${host}`);
  // Like Docker, use plain HTTP for a registry on this machine.
  const registry = isLoopback(url.hostname) ? new URL(`http://${host}`) : url;
  if (registry.href !== `${registry.origin}/`) {
    throw new Refusal(
      `${source}: a host and its port come before the repository, and nothing else`,
    );
  }
  return { registry, repository, tag, ...(digest !== undefined && { digest }) };
}

/** Reads manifests, layers and referrers, with the user's credentials if the registry requires them. */
export class Repository {
  readonly #registry: URL;
  readonly #name: string;
  /** The value of the `authorization` header, once the registry has required one. */
  #authorization: string | undefined;

  constructor({ registry, repository }: Pick<OciReference, "registry" | "repository">) {
    this.#registry = registry;
    this.#name = repository;
  }

  /** The manifest or index of this tag or digest, and its digest; undefined if there is none. */
  async manifest(
    reference: string,
  ): Promise<{ digest: string; manifest: OciManifest } | undefined> {
    const url = this.#url("manifests", reference);
    const got = await this.#get(url, { accept: ACCEPTED }, limits.sourceManifestBytes);
    if (got.status === 404) return undefined;
    const body = bodyOf(got);
    const isPinned = reference.includes(":");
    const digest = ociDigestOf(body, reference);
    const promised = isPinned ? reference : got.headers["docker-content-digest"];
    if (typeof promised === "string" && promised !== ociDigestOf(body, promised)) {
      throw new Refusal(
        `${withoutQuery(url)}: the manifest has the digest ${ociDigestOf(body, promised)}, not ${promised}: it was altered on its way: try again, and do not trust it if this recurs`,
      );
    }
    return { digest, manifest: readManifest(body, withoutQuery(url)) };
  }

  /** The content of a descriptor. Throws a `Refusal` if its size or digest differs, or it is larger than `maxBytes`. */
  async blob({ digest, size }: OciDescriptor, maxBytes = limits.sourceBytes) {
    const url = this.#url("blobs", digest);
    if (size > maxBytes) {
      throw new Refusal(`${withoutQuery(url)}: it has ${size} bytes, and ${maxBytes} is the limit`);
    }
    const body = bodyOf(await this.#get(url, {}, maxBytes));
    if (body.length !== size || ociDigestOf(body, digest) !== digest) {
      throw new Refusal(
        `${withoutQuery(url)}: the layer has ${body.length} bytes and the digest ${ociDigestOf(body, digest)}, and its manifest promises ${size} bytes: it was altered on its way: try again, and do not trust it if this recurs`,
      );
    }
    return body;
  }

  /** Manifests that refer to this digest, such as signatures. */
  async referrers(digest: string): Promise<OciDescriptor[]> {
    const url = this.#url("referrers", digest);
    const got = await this.#get(url, { accept: INDEX }, limits.sourceManifestBytes);
    if (got.status === 200) return readManifest(bodyOf(got), withoutQuery(url)).manifests ?? [];
    // Registries without this endpoint store the list under a tag.
    const tagged = await this.manifest(digest.replace(":", "-"));
    return tagged?.manifest.manifests ?? [];
  }

  #url(what: "manifests" | "blobs" | "referrers", reference: string): URL {
    return new URL(`/v2/${this.#name}/${what}/${reference}`, this.#registry);
  }

  async #get(url: URL, headers: Record<string, string>, maxBytes: number): Promise<SourceResponse> {
    const send = () => {
      const authorization = this.#authorization;
      const credentials = authorization === undefined ? undefined : { authorization };
      return requestSource(url, { headers, maxBytes, ...(credentials && { credentials }) });
    };
    const got = await send();
    const challenge = got.headers["www-authenticate"];
    // Only the registry itself may ask for credentials, not a host that it redirects to.
    const isRegistry = got.url.origin === this.#registry.origin;
    if (got.status !== 401 || challenge === undefined || !isRegistry) return got;
    this.#authorization = await this.#answerTo(challenge);
    return this.#authorization === undefined ? got : send();
  }

  /** The `authorization` header for a challenge. https://distribution.github.io/distribution/spec/auth/token/ */
  async #answerTo(challenge: string): Promise<string | undefined> {
    const known = await registryCredentialsFor(this.#registry.host);
    if (/^basic\b/i.test(challenge)) return known && basic(known);
    // Another challenge may follow. Ignore its parameters.
    const parameters = new Map(
      [...challenge.matchAll(/(\w+)="([^"]*)"/g)]
        .map(([, key, value]) => [key!.toLowerCase(), value!] as const)
        .toReversed(),
    );
    const realm = parameters.get("realm") ?? "";
    if (!/^bearer\b/i.test(challenge) || !URL.canParse(realm)) {
      throw new Refusal(
        `${this.#registry.origin}: its authorization scheme is not supported: it must be Basic, or Bearer with the URL of a token service`,
      );
    }
    const url = new URL(realm);
    url.search = url.username = url.password = "";
    const { host } = this.#registry;
    // Other token services do not get the user's login, because the registry would receive the token.
    const services = servicesAt(url.host, host);
    const credentials = services?.length === 0 ? undefined : known;
    const scope = `repository:${this.#name}:pull`;
    const service = parameters.get("service") ?? services?.[0] ?? host;
    if (credentials && services?.includes(service) === false) {
      throw new Refusal(
        `${this.#registry.origin}: it asks for a token of the service ${JSON.stringify(service)} at ${url.host}, which may be another's: expected ${services.join(" or ")}: if it is its own, set TOKEN_SERVICES="${host}=${url.host}/SERVICE"`,
      );
    }
    return `Bearer ${await token(url, { service, scope, from: this.#registry }, credentials)}`;
  }
}

const basic = ({ user, password }: Credentials) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

const tokenSchema = z
  .object({ token: z.string().optional(), access_token: z.string().optional() })
  .transform((answer) => answer.token ?? answer.access_token)
  .pipe(z.string().regex(/^[\x21-\x7e]+$/));

/** Fetches a token that allows pulling. Throws a `Refusal` if the token service gives none. */
async function token(
  url: URL,
  { from, ...what }: { service: string; scope: string; from: URL },
  known: Credentials | undefined,
): Promise<string> {
  const exchanged = known?.identityToken;
  const form = new URLSearchParams({
    ...what,
    ...(exchanged && {
      grant_type: "refresh_token",
      client_id: "edge-servlets",
      refresh_token: exchanged,
    }),
  });
  const asked = new URL(url);
  if (!exchanged) for (const [key, value] of form) asked.searchParams.set(key, value);
  const got = await requestSource(asked, {
    from,
    ...(exchanged && { form }),
    credentials: known && !exchanged ? { authorization: basic(known) } : {},
    maxBytes: limits.sourceManifestBytes,
  });
  const read = tokenSchema.safeParse(parsedJson(bodyOf(got)));
  if (read.success) return read.data;
  throw new Refusal(
    `${withoutQuery(url)}: its answer has no token: log in again with docker login`,
  );
}

function readManifest(body: Uint8Array, place: string): OciManifest {
  const read = manifestSchema.safeParse(parsedJson(body));
  if (read.success) return read.data;
  throw new Refusal(
    `${place}: it is not the manifest of an image: look at the name of the registry`,
  );
}

/** The value of JSON bytes; undefined if they are not JSON. */
export const parsedJson = (bytes: Uint8Array): unknown => jsonIn(new TextDecoder().decode(bytes));
