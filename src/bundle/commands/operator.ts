/** Requests to the operator's endpoint of a server. */
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { printable } from "../../text.ts";
import { Refusal } from "../refusal.ts";

/** A server that cannot be reached, or a connection that was lost. */
class Unreachable extends Refusal {}

const errorSchema = z.object({ error: z.string() });

/** Asks the server with this URL, with the key of EDGE_SERVLETS_KEY. Throws a `Refusal` with what it says. */
export async function request(
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
  // A failure that the server has not worded is one of something on the way to it.
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

/** Asks the server, and reads its JSON; an empty answer is an empty object. Throws a `Refusal`. */
export async function requestJson<T>(
  server: string,
  path: string,
  schema: z.ZodType<T>,
  init: RequestInit = {},
): Promise<T> {
  const response = await request(server, path, init);
  const text = await response.text().catch((error: Error) => {
    throw new Unreachable(`The answer of ${server} was cut off: ${error.message}. Try again.`);
  });
  try {
    return schema.parse(text === "" ? {} : JSON.parse(text));
  } catch {
    throw new Refusal(printable(`${server}: ${unexpected(response)}`));
  }
}

/** Attempts at a request whose connection is lost, with a growing pause between them. */
const ATTEMPTS = 4;
const PAUSE_MS = 500;

/** Makes a request that may be made twice, again where its connection is lost. */
export async function retried<T>(ask: () => Promise<T>, progress: (text: string) => void) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Unreachable) || attempt === ATTEMPTS) throw error;
      progress("the connection was lost: trying again");
      await pause(PAUSE_MS * 2 ** attempt);
    }
  }
}
