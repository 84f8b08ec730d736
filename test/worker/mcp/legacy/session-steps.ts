import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { limits } from "../../../../src/server/kernel/core/limits.ts";
import { answerOf } from "../../server.ts";
import { eventually } from "../../waiting.ts";
import type { Json } from "../../calls/client.ts";
import { steps } from "../../calls/plans.ts";
import {
  Events,
  LATEST,
  resultIn,
  SessionClient,
  type SessionEvent,
  type SessionOptions,
} from "./session-client.ts";

/** Steps that the tests of sessions share. */

export const VERSIONS = [LATEST, "2025-06-18", "2025-03-26", "2024-11-05"];

export const objects = env.SESSIONS!;
export const sessionOf = (id: string) => objects.get(objects.idFromString(id));
export const objectOf = ({ object }: SessionClient) => sessionOf(object);

export const begin = (options?: SessionOptions) => SessionClient.begin(options);

/** Follows a plan that says something, or asks; gives the stream. */
export const planned = async (client: SessionClient, ...all: Json[]) =>
  new Events(await client.call("plan", steps(...all)));

/** Opens the session's own stream, or that of this event. */
export const listened = async (client: SessionClient, lastEventId?: string) =>
  new Events(await client.listen(lastEventId));

/** Opens the session's own stream again, whose client has gone: only by writing the session learns of that. */
export async function reopened(client: SessionClient): Promise<Events> {
  return eventually(async () => {
    const response = await client.listen();
    if (response.status !== 200) throw new Error(await response.text());
    return new Events(response);
  });
}

/** Has the session say this on its own stream. */
export const tell = (client: SessionClient, ...texts: string[]) =>
  objectOf(client).changed(
    texts.map((data) => ({ method: "notifications/message", params: { level: "info", data } })),
  );
/** The text of a log message. */
export const textOf = (message?: Json) => message?.["params"]?.data as string;
export const textsOf = (events: SessionEvent[]) =>
  events.flatMap(({ message }) => (message === undefined ? [] : textOf(message)));

/** The first event of a stream, which lets its client reconnect before any message. */
export const primingOf = (version: string) =>
  version === LATEST ? [{ id: expect.any(String), retry: limits.retryMs }] : [];

export async function isAlive(client: SessionClient): Promise<boolean> {
  const { status } = await client.notify("notifications/any");
  return status === 202;
}

/** A request and a response as they are in a body. */
export const request = (id: unknown, method: string, params: Json = {}) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});
export const response = (id: unknown, result: unknown) => ({ jsonrpc: "2.0", id, result });

/** The error of a request whose whole answer is an error. */
export async function faultOf(
  given: Response,
): Promise<{ status: number; code: unknown; text: string }> {
  const { status, error } = await answerOf(given);
  return { status, code: error?.code, text: error?.message ?? "" };
}

/** The `_meta` key of a session's messages that belong to a task. */
export const RELATED = "io.modelcontextprotocol/related-task";

/** Calls a tool as a task. */
export const started = async (
  client: SessionClient,
  name: string,
  args: Json = {},
  task: Json = {},
) => resultIn(await client.call(name, args, { task }));

export async function startedTask(...call: Parameters<typeof started>): Promise<Json> {
  const { result, error } = await started(...call);
  expect(error).toBeUndefined();
  return result.task;
}

export const about = async (client: SessionClient, method: string, taskId: unknown) =>
  resultIn(await client.request(method, { taskId }));
export const resultOf = (client: SessionClient, taskId: unknown) =>
  client.request("tasks/result", { taskId });

/** The task once it has this status. */
export async function until(client: SessionClient, taskId: string, status: string): Promise<Json> {
  return eventually(async () => {
    const { result } = await about(client, "tasks/get", taskId);
    if (result.status !== status)
      throw new Error(`The task does not become ${status}: ${JSON.stringify(result)}`);
    return result;
  });
}
