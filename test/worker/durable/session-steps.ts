import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { SessionObject } from "../../../src/durable/session.ts";
import { namespaceOf } from "../../../src/env.ts";
import { limits } from "../../../src/limits.ts";
import type { Json } from "./client.ts";
import {
  Events,
  LATEST,
  SessionClient,
  type SessionEvent,
  type SessionOptions,
} from "./session-client.ts";

/** What the tests of sessions do again and again. */

export const VERSIONS = [LATEST, "2025-06-18", "2025-03-26", "2024-11-05"];
export const ELICIT = { do: "elicit", message: "Who?" };
export const log = (message: string) => ({ do: "log", message });
export const steps = (...all: Json[]) => ({ steps: all });

export const objects = namespaceOf<SessionObject>(env, "SESSIONS")!;
export const objectOf = ({ id }: SessionClient) => objects.get(objects.idFromString(id));

export const begin = (options?: SessionOptions) => SessionClient.begin(options);

/** Follows a plan that says something, or asks; gives the stream. */
export const planned = async (client: SessionClient, ...all: Json[]) =>
  new Events(await client.call("plan", steps(...all)));
/** What came of each step. */
export const saidIn = ({ result }: Json) => result?.structuredContent.said;

/** Opens the session's own stream, or that of this event. */
export const listened = async (client: SessionClient, lastEventId?: string) =>
  new Events(await client.listen(lastEventId));

/** Opens the session's own stream again, whose client has gone: only by writing the session learns of that. */
export async function reopened(client: SessionClient): Promise<Events> {
  for (let look = 0; look < 500; look++) {
    const response = await client.listen();
    if (response.status === 200) return new Events(response);
    await response.text();
  }
  throw new Error("the stream cannot be opened again");
}

/** Has the session say this on its own stream. */
export const tell = (client: SessionClient, ...texts: string[]) =>
  objectOf(client).heard(
    texts.map((data) => ({ method: "notifications/message", params: { level: "info", data } })),
  );
/** What a log message says. */
export const textOf = (message?: Json) => message?.["params"]?.data as string;
export const textsOf = (events: SessionEvent[]) =>
  events.flatMap(({ message }) => (message === undefined ? [] : textOf(message)));

/** What a stream begins with, so that its client can come back before anything was said. */
export const primingOf = (version: string) =>
  version === LATEST ? [{ id: expect.any(String), retry: limits.retryMs }] : [];

export async function isAlive(client: SessionClient): Promise<boolean> {
  const { status } = await client.notify("notifications/any");
  return status === 202;
}
