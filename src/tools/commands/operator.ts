/** Requests to a server's operator endpoint. */
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { printable } from "../../server/kernel/core/text.ts";
import { Refusal } from "../bundle/refusal.ts";

/** Thrown if the server could not be reached, or the connection was lost. */
class Unreachable extends Refusal {}

const errorSchema = z.object({ error: z.string() });

/** Requests a path below `/operator/` with the key in EDGE_SERVLETS_KEY. Throws a `Refusal` with the server's error. */
export async function requestOperator(
  server: string,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  if (!URL.canParse(server))
    throw new Refusal(`--to: ${server} is not a URL, such as https://my-server`);
  const url = new URL(`/operator/${path}`, server);
  const { EDGE_SERVLETS_KEY: key } = process.env;
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (key && url.protocol !== "https:" && !isLocal) {
    throw new Refusal(`--to: ${server} is not https, so the key would be sent unencrypted.`);
  }
  const headers = new Headers(init.headers);
  if (key) headers.set("authorization", `Bearer ${key}`);
  const response = await fetch(url, { ...init, headers, redirect: "error" }).catch(
    (error: unknown) => {
      const { cause = error } = error as Error;
      const { message, code } = cause as Error & { code?: string };
      throw new Unreachable(
        `${url.origin} cannot be reached (${message || code}). Is it running? To use another server: --to URL`,
      );
    },
  );
  if (response.ok) return response;
  const known = errorSchema.safeParse(await response.json().catch(() => undefined));
  // A 5xx without the server's own message comes from a proxy, and may be temporary.
  const Kind = known.success || response.status < 500 ? Refusal : Unreachable;
  const hint =
    response.status === 401
      ? " Set EDGE_SERVLETS_KEY: npm run keys -- create NAME --scopes operator"
      : "";
  const message = known.data?.error ?? unexpected(response);
  throw new Kind(printable(`${url.origin}: ${message}${hint}`));
}

const unexpected = ({ status }: Response) =>
  `The answer (status ${status}) has an unexpected form. Check that --to names a server of this project and version.`;

/** Requests JSON; an empty body counts as `{}`. Throws a `Refusal` if the response does not match the schema. */
export async function requestJson<T>(
  server: string,
  path: string,
  schema: z.ZodType<T>,
  init: RequestInit = {},
): Promise<T> {
  const response = await requestOperator(server, path, init);
  const text = await response.text().catch((error: Error) => {
    throw new Unreachable(`The answer of ${server} was cut off: ${error.message}. Try again.`);
  });
  try {
    return schema.parse(text === "" ? {} : JSON.parse(text));
  } catch {
    throw new Refusal(printable(`${server}: ${unexpected(response)}`));
  }
}

/** Maximum number of attempts for a request whose connection is lost. */
const ATTEMPTS = 4;

interface Retries {
  progress(text: string): void;
  /** Pause before the second attempt, in ms; it doubles for each further attempt. */
  pauseMs?: number | undefined;
}

/** Makes a request, and repeats it if the connection is lost. Only for idempotent requests. */
export async function withRetries<T>(
  ask: () => Promise<T>,
  { progress, pauseMs = 1000 }: Retries,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Unreachable) || attempt === ATTEMPTS) throw error;
      progress("the connection was lost: trying again");
      await pause(pauseMs * 2 ** (attempt - 1));
    }
  }
}
