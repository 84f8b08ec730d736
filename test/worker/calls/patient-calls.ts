import type { Json } from "./client.ts";
import { answersTo } from "./faults.ts";
import { Events, type SessionClient, type SessionEvent } from "../mcp/legacy/session-client.ts";

/** Calls in a session by a client that does not give up. */

/** The outcome of a call, for its client. */
export interface Called {
  /** The response to its request. */
  answer: Json;
  /** All that was on its stream, in the order in which it came, of the last time that it was called. */
  events: SessionEvent[];
  /** How often it was called. */
  times: number;
  /** The requests of the server whose answer was sent more than once. */
  answeredAgain: unknown[];
}

/** The server has lost the call, and says so. */
export const isLost = ({ error }: Json): boolean => String(error?.message).endsWith("Call again.");

/** Done before a message is taken; the connection may be dropped before. */
export type Between = (message: Json, drop: () => Promise<void>) => Promise<unknown>;

export const WITH_PROGRESS = { _meta: { progressToken: "p" } };

/** Calls a tool as a client does that does not give up. */
export async function callThrough(
  client: SessionClient,
  [name, args, other = {}]: [name: string, args: Json, other?: Json],
  between: Between = async () => {},
): Promise<Called> {
  const answeredAgain: unknown[] = [];
  for (let times = 1; times <= 5; times++) {
    const response = await tried(() => client.call(name, args, other));
    if (response === undefined) continue;
    const events: SessionEvent[] = [];
    if (response.headers.get("content-type") === "application/json") {
      const answer: Json = await response.json();
      return { answer, events, times, answeredAgain };
    }
    const take = async (message: Json, drop: () => Promise<void>) => {
      await between(message, drop);
      if (!("method" in message && "id" in message)) return;
      const { id, method, params } = message;
      const { it } = answersTo({ it: { method, params } });
      for (let sent = 1; ; sent++) {
        const taken = await tried(() => client.answer(id, it));
        if (taken?.status === 202) break;
        if (taken !== undefined || sent > 5) throw new Error(`the answer is not taken: ${sent}`);
        if (sent === 1) answeredAgain.push(id);
      }
    };
    const answer = await followed(client, response, { events, take });
    if (answer !== undefined && !isLost(answer)) return { answer, events, times, answeredAgain };
  }
  throw new Error("it is called again and again");
}

/** Undefined where a request has failed, and may be sent again. */
async function tried(send: () => Promise<Response>): Promise<Response | undefined> {
  const response = await send();
  if (response.status < 500) return response;
  await response.body?.cancel();
  return undefined;
}

/** Reads a stream to its end, over many connections; gives what answers the call. Undefined where it has had no event. */
async function followed(
  client: SessionClient,
  first: Response,
  {
    events,
    take,
  }: { events: SessionEvent[]; take(message: Json, drop: () => Promise<void>): Promise<void> },
): Promise<Json | undefined> {
  let response: Response | undefined = first;
  let last: string | undefined;
  for (let times = 0; times < 500; times++) {
    if (response?.status === 200) {
      const stream = new Events(response);
      const next = () => stream.next().catch(() => undefined);
      for (let event = await next(); event !== undefined; event = await next()) {
        last = event.id ?? last;
        const { message } = event;
        if (message === undefined) continue;
        events.push(event);
        if ("result" in message || "error" in message) {
          await stream.drop();
          return message;
        }
        await take(message, () => stream.drop());
      }
    } else if (response !== undefined) {
      throw new Error(`the stream is not there: ${response.status} ${await response.text()}`);
    }
    if (last === undefined) return undefined;
    const after: string = last;
    response = await tried(() => client.listen(after));
  }
  throw new Error("the stream ends again and again");
}
