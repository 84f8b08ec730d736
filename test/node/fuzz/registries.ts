import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Repository } from "../../../src/tools/bundle/sources/registry.ts";
import { Refusal } from "../../../src/tools/bundle/refusal.ts";
import type { Chance } from "./chance.ts";

/**
 * A registry that answers by chance: it names any token service, scope and service, redirects anywhere, to others that
 * redirect too. The user has a login at each host. The registry's own goes to it, and to the token service that the
 * configuration names; no other host sees a login or a token, and no token is for more than to pull what was asked for.
 */

const HOSTS = ["registry", "service", "victim"] as const;
type Host = (typeof HOSTS)[number];

const REPOSITORY = "ada/time";
const OURS = `repository:${REPOSITORY}:pull`;
const DIGEST = `sha256:${"0".repeat(64)}`;

const passwordOf = (host: Host) => `password-of-${host}`;
const identityOf = (host: Host) => `identity-of-${host}`;
const tokenOf = (host: Host) => `token-of-${host}`;
const loginOf = (host: Host) => Buffer.from(`ada:${passwordOf(host)}`).toString("base64");

interface Seen {
  at: Host;
  url: string;
  authorization: string;
  body: string;
}

class Internet {
  readonly seen: Seen[] = [];
  readonly hosts = new Map<Host, string>();
  /** Where hosts have led: whoever gets a login may ask itself for anything. */
  readonly led = new Set<string>();
  readonly #servers = HOSTS.map((host) =>
    createServer((request, response) => void this.#answer(host, request, response)),
  );
  readonly #chance: Chance;
  /** Answers that are left before all is refused. */
  #left = 40;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  async start(): Promise<void> {
    for (const [at, server] of this.#servers.entries()) {
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
      this.hosts.set(HOSTS[at]!, `127.0.0.1:${(server.address() as AddressInfo).port}`);
    }
  }

  stop(): void {
    for (const server of this.#servers) server.close().closeAllConnections();
  }

  async #answer(at: Host, request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const part of request.setEncoding("utf8")) body += String(part);
    const { authorization = "" } = request.headers;
    this.seen.push({ at, url: request.url ?? "", authorization, body });
    const chance = this.#chance;
    const kind = this.#left-- > 0 ? chance.below(10) : 9;
    if (request.url!.includes("token") && kind < 7)
      return json(response, { [chance.pick(["token", "access_token"])]: tokenOf(at) });
    if (kind < 4) {
      response.writeHead(401, { "www-authenticate": this.#challenge() }).end();
    } else if (kind < 7) {
      const status = chance.pick([301, 302, 303, 307, 308]);
      const location = this.#url();
      const { host, pathname, search } = new URL(location);
      if (host === this.hosts.get(at)) this.led.add(`${at} ${pathname}${search}`);
      response.writeHead(status, { location }).end();
    } else if (kind < 9) json(response, { schemaVersion: 2, layers: [], manifests: [] });
    else response.writeHead(chance.pick([403, 404, 500])).end();
  }

  #url(): string {
    const chance = this.#chance;
    const host = this.hosts.get(chance.pick(HOSTS))!;
    const name = chance.of(0.2) ? host.replace("127.0.0.1", "localhost") : host;
    const user = chance.pick(["", "", "", "ada:x@", `${this.hosts.get("registry")}@`]);
    const scheme = chance.pick(["http", "http", "HTTP", "https"]);
    const path = chance.pick(["/token", "/token", "/v2/token", "/", `/v2/${REPOSITORY}/x`, "//x"]);
    const query = chance.pick([
      "",
      "",
      "?scope=repository:other/x:push",
      "?Scope=registry:catalog:*&service=x",
    ]);
    return `${scheme}://${user}${name}${path}${query}${chance.pick(["", "", "#x", "#@"])}`;
  }

  #challenge(): string {
    const chance = this.#chance;
    if (chance.of(0.15)) return chance.pick(['Basic realm="x"', "basic", "Negotiate", "Bearer"]);
    const scope = chance.pick([
      "repository:victim/secret:pull,push",
      `${OURS},push`,
      "registry:catalog:*",
      "",
    ]);
    const parts = [
      `realm="${chance.of(0.95) ? this.#url() : "no URL"}"`,
      ...(chance.of(0.7) ? [`scope="${scope}"`] : []),
      ...(chance.of(0.7) ? [`service="${chance.pick(["victim", "a b", "&scope=x", ""])}"`] : []),
      ...(chance.of(0.2) ? [`realm="${this.#url()}"`] : []),
    ];
    return `${chance.pick(["Bearer", "bearer", "BEARER"])} ${parts.join(",")}`;
  }
}

function json(response: ServerResponse, value: object): void {
  response.setHeader("content-type", "application/json").end(JSON.stringify(value));
}

/** The fault of a request; undefined where nobody learns what is not theirs. */
function wrongWith({ at, url, authorization, body }: Seen, led: Set<string>): string | undefined {
  const all = `${url} ${authorization} ${body}`;
  for (const host of HOSTS) {
    const hasLogin = [passwordOf(host), identityOf(host), loginOf(host)].some((one) =>
      all.includes(one),
    );
    if (!hasLogin) continue;
    if (host !== "registry") return `the login at the ${host} is used`;
    if (at === "victim") return "the victim sees the registry's login";
    if (led.has(`${at} ${url}`)) continue;
    const given = [...new URL(url, "http://x").searchParams, ...new URLSearchParams(body)];
    // A registry that asks for a login itself gets it, for whatever it answers.
    if (at === "registry" && !given.some(([name]) => /^(scope|grant_type)$/i.test(name))) continue;
    const scopes = given.filter(([name]) => /^scope$/i.test(name)).map(([, scope]) => scope);
    if (scopes.some((scope) => scope !== OURS) || scopes.length !== 1)
      return `a login asks for ${JSON.stringify(scopes)}`;
  }
  const token = HOSTS.some((host) => all.includes(tokenOf(host)));
  return token && at !== "registry" ? `the ${at} sees a token` : undefined;
}

/** Throws where a login or a token goes where it does not belong. */
export async function askRegistries(chance: Chance): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "registries-"));
  const { DOCKER_CONFIG, TOKEN_SERVICES } = process.env;
  const internet = new Internet(chance);
  try {
    await internet.start();
    const registry = internet.hosts.get("registry")!;
    const auths = HOSTS.map((host) => {
      const login = chance.of(0.3) ? { identitytoken: identityOf(host) } : { auth: loginOf(host) };
      return [internet.hosts.get(host)!, login];
    });
    await writeFile(
      join(folder, "config.json"),
      JSON.stringify({ auths: Object.fromEntries(auths) }),
    );
    process.env["DOCKER_CONFIG"] = folder;
    process.env["TOKEN_SERVICES"] = `${registry}=${internet.hosts.get("service")}`;
    const repository = new Repository({
      registry: new URL(`http://${registry}`),
      repository: REPOSITORY,
    });
    for (let left = 4; left > 0; left--) {
      const asked = chance.pick([
        () => repository.manifest("latest"),
        () => repository.referrers(DIGEST),
        () => repository.blob({ mediaType: "a", digest: DIGEST, size: 1 }),
      ]);
      await asked().catch((error: unknown) => {
        if (!(error instanceof Refusal)) throw error;
        const secret = /(password|identity|token)-of-\w+/.exec(error.message);
        if (secret) throw new Error(`a refusal has ${secret[0]}: ${error.message}`);
      });
    }
    for (const [nth, one] of internet.seen.entries()) {
      const wrong = wrongWith(one, internet.led);
      if (wrong === undefined) continue;
      const before = internet.seen.slice(0, nth + 1).map((seen) => JSON.stringify(seen));
      throw new Error(`${wrong}:\n${before.join("\n")}`);
    }
  } finally {
    internet.stop();
    restore("DOCKER_CONFIG", DOCKER_CONFIG);
    restore("TOKEN_SERVICES", TOKEN_SERVICES);
    await rm(folder, { recursive: true });
  }
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
