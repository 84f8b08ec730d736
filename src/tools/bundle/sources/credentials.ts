/**
 * Credentials for registries, as `docker login` stores them.
 * https://docs.docker.com/reference/cli/docker/login/#credential-stores
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { limits } from "../limits.ts";
import { jsonIn } from "../../../server/kernel/core/text.ts";
import { Refusal } from "../refusal.ts";

/** A login at one host. */
export interface Credentials {
  user: string;
  password: string;
  /** A refresh token, used instead of user and password. */
  identityToken?: string;
}

const configSchema = z.object({
  auths: z
    .record(
      z.string(),
      z.object({
        auth: z.string().optional(),
        username: z.string().optional(),
        password: z.string().optional(),
        identitytoken: z.string().optional(),
      }),
    )
    .default({}),
  credsStore: z.string().optional(),
  credHelpers: z.record(z.string(), z.string()).default({}),
});

const helperSchema = z.object({ Username: z.string(), Secret: z.string() });

/** The names that Docker's config may use for a host. */
const namesOf = (host: string): string[] =>
  host === "registry-1.docker.io"
    ? ["https://index.docker.io/v1/", "index.docker.io", "docker.io", host]
    : [host, `https://${host}`, `https://${host}/`, `http://${host}`];

/** The user's credentials for a host; undefined if there are none. */
export async function registryCredentialsFor(host: string): Promise<Credentials | undefined> {
  const path = join(process.env["DOCKER_CONFIG"] ?? join(homedir(), ".docker"), "config.json");
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const { data: config } = configSchema.safeParse(jsonIn(text));
  if (config === undefined) {
    // Omit the parser's message: it quotes the file, which contains passwords.
    throw new Refusal(
      `${path}: it is not a valid Docker config: correct it, or set DOCKER_CONFIG to another folder`,
    );
  }
  for (const name of namesOf(host)) {
    const helper = config.credHelpers[name];
    const known = helper === undefined ? undefined : await ask(helper, name);
    if (known !== undefined) return known;
  }
  for (const name of namesOf(host)) {
    const entry = config.auths[name];
    if (entry?.identitytoken) return { user: "", password: "", identityToken: entry.identitytoken };
    if (entry?.username && entry.password)
      return { user: entry.username, password: entry.password };
    if (!entry?.auth) continue;
    const [user = "", ...password] = Buffer.from(entry.auth, "base64").toString().split(":");
    return { user, password: password.join(":") };
  }
  if (config.credsStore === undefined) return undefined;
  for (const name of namesOf(host)) {
    const known = await ask(config.credsStore, name);
    if (known !== undefined) return known;
  }
  return undefined;
}

/** Credentials from a helper program; undefined if it has none for this name. Throws a `Refusal` if it is missing. */
async function ask(helper: string, name: string): Promise<Credentials | undefined> {
  if (!/^[\w.-]+$/.test(helper)) {
    throw new Refusal(
      `Docker's config names the credential helper ${helper}, which is not a valid name: correct credsStore or credHelpers`,
    );
  }
  const program = `docker-credential-${helper}`;
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const child = execFile(program, ["get"], { timeout: limits.sourceIdleMs }, (error, output) => {
    if (error === null) resolve(output);
    else if (error.code === "ENOENT") {
      reject(
        new Refusal(
          `Docker's config names ${program}, which is not installed: install it, or log in again without it`,
        ),
      );
    } else resolve(undefined);
  });
  child.stdin!.on("error", () => {});
  child.stdin!.end(name);
  const output = await promise;
  if (output === undefined) return undefined;
  const { data } = helperSchema.safeParse(jsonIn(output));
  if (data === undefined)
    throw new Refusal(
      `${program}: its answer about ${name} does not have the form of credentials: log in again`,
    );
  const { Username: user, Secret: password } = data;
  return user === "<token>"
    ? { user: "", password: "", identityToken: password }
    : { user, password };
}
