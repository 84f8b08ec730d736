/** Whether streams arrive as they are written: their first bytes at once, and keep-alive comments in time. */
import { limits } from "../../server/kernel/core/limits.ts";
import { findingsOf, notTried, right, Unreachable, wrong, type Finding } from "./finding.ts";
import { bearer, post } from "./requests.ts";
import {
  initializing,
  modernHeaders,
  modernParams,
  requestModern,
  TrialSession,
} from "./session.ts";

/** How long streams may take, in ms. */
export interface Patience {
  /** How long a stream is listened to. */
  listenMs: number;
  /** When its first bytes must have arrived. */
  firstMs: number;
}

export const PATIENCE: Patience = { listenMs: 20_000, firstMs: 5000 };

const UNBUFFERED =
  "Have the proxy pass streams on unbuffered (nginx: proxy_buffering off; Caddy: flush_interval -1; Apache: flushpackets=on), and without compression.";

interface Listening {
  endpoint: URL;
  key: string | undefined;
  /** True for a server of this project, whose keep-alive interval is known. */
  isOurs: boolean;
  patience: Patience;
}

export async function checkStreams(listening: Listening): Promise<readonly Finding[]> {
  const [session, subscription] = ["Stream of a session", "Stream of subscriptions"];
  const all = await Promise.all([
    findingsOf(session, async () => [await sessionStream(session, listening)]),
    findingsOf(subscription, async () => [await subscriptionStream(subscription, listening)]),
  ]);
  return all.flat();
}

/** The stream of a session up to 2025-11-25: GET. */
async function sessionStream(name: string, listening: Listening): Promise<Finding> {
  const { endpoint, key } = listening;
  const begun = await post(endpoint, initializing(), { headers: bearer(key) });
  if (begun.message?.result === undefined) return notTried(name, "No session begins: see above.");
  const session = new TrialSession(endpoint, begun, bearer(key));
  try {
    await session.initialized();
    const headers = { ...session.headers, accept: "text/event-stream" };
    return await listenTo(name, { headers, mustBegin: false }, listening);
  } finally {
    await session.end();
  }
}

/** The stream of `subscriptions/listen`, from 2026-07-28 on. */
async function subscriptionStream(name: string, listening: Listening): Promise<Finding> {
  const { endpoint, key } = listening;
  const found = await requestModern(endpoint, { method: "server/discover" }, bearer(key));
  if (found.message?.result === undefined)
    return notTried(name, "The server does not speak the revision that has them.");
  const method = "subscriptions/listen";
  const params = modernParams({ notifications: { toolsListChanged: true } });
  const headers = {
    ...bearer(key),
    ...modernHeaders(method),
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: method, method, params });
  return listenTo(name, { method: "POST", headers, body, mustBegin: true }, listening);
}

/** What was observed of a stream. Times are in ms since the request. */
interface Observation {
  /** 0 while there is no answer at all. */
  status: number;
  isStream: boolean;
  first?: number;
  /** The first keep-alive comment after the first bytes. */
  keptAlive?: number;
  /** When the server, or a proxy, has ended the stream. */
  ended?: number;
}

/** Reads a stream until a keep-alive comes, it ends, or the time is over. Throws `Unreachable`. */
async function observe(endpoint: URL, init: RequestInit, listenMs: number): Promise<Observation> {
  const gone = new AbortController();
  const timer = setTimeout(() => gone.abort(), listenMs);
  const began = performance.now();
  const now = () => performance.now() - began;
  const seen: Observation = { status: 0, isStream: false };
  try {
    const response = await fetch(endpoint, { redirect: "manual", ...init, signal: gone.signal });
    seen.status = response.status;
    const type = response.headers.get("content-type") ?? "";
    seen.isStream = response.status === 200 && type.startsWith("text/event-stream");
    if (!seen.isStream) return seen;
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      const isBeginning = seen.first === undefined;
      seen.first ??= now();
      if (isBeginning || !/^:/m.test(decoder.decode(bytes))) continue;
      seen.keptAlive = now();
      return seen;
    }
    seen.ended = now();
  } catch (error) {
    if (gone.signal.aborted) return seen;
    const { cause = error } = error as Error;
    throw new Unreachable(
      `The stream broke after ${seconds(now())} (${(cause as Error).message}). See the log of the server and the proxy.`,
    );
  } finally {
    clearTimeout(timer);
    gone.abort();
  }
  return seen;
}

const seconds = (ms: number) => (ms < 1000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1000)} s`);

/** Judges a stream. `mustBegin`: its first event comes at once by the specification. */
async function listenTo(
  name: string,
  init: RequestInit & { mustBegin: boolean },
  { endpoint, isOurs, patience: { listenMs, firstMs } }: Listening,
): Promise<Finding> {
  const { mustBegin, ...request } = init;
  const { status, isStream, first, keptAlive, ended } = await observe(endpoint, request, listenMs);
  if (status === 0)
    return wrong(
      name,
      `No answer begins within ${seconds(listenMs)}, so something on the way keeps the stream back. ${UNBUFFERED}`,
    );
  if (status >= 500)
    return wrong(name, `It fails with status ${status}. See the log of the server and the proxy.`);
  if (!isStream)
    return notTried(
      name,
      `The server offers none (status ${status}).${isOurs ? " The bindings SESSIONS and HUBS bring it in." : ""}`,
    );
  if (first === undefined && ended === undefined)
    return mustBegin || isOurs
      ? wrong(
          name,
          `It opens, and nothing arrives within ${seconds(listenMs)}, so something on the way keeps it back. ${UNBUFFERED}`,
        )
      : notTried(name, `It opens, and the server had nothing to say within ${seconds(listenMs)}.`);
  if (first !== undefined && first > firstMs)
    return wrong(
      name,
      `The first bytes arrive after ${seconds(first)} only, so something on the way keeps them back. ${UNBUFFERED}`,
    );
  const begins =
    first === undefined ? "It opens" : `The first bytes arrive after ${seconds(first)}`;
  if (keptAlive !== undefined)
    return right(name, `${begins}, and a keep-alive after ${seconds(keptAlive)}.`);
  if (ended !== undefined)
    return isOurs
      ? wrong(
          name,
          `It is cut off after ${seconds(ended)}, which the server does not do. Raise the proxy's timeout for answers to a minute or more (nginx: proxy_read_timeout).`,
        )
      : right(
          name,
          `${begins}, and the server ends it after ${seconds(ended)}; clients open it again.`,
        );
  if (isOurs && listenMs > limits.listenKeepAliveMs)
    return wrong(
      name,
      `${begins}, and no keep-alive within ${seconds(listenMs)}, although the server writes one every ${seconds(limits.listenKeepAliveMs)}: something on the way keeps it back. ${UNBUFFERED}`,
    );
  return right(
    name,
    `${begins}; no keep-alive came within ${seconds(listenMs)}, so a proxy may cut it off when it is idle.`,
  );
}
