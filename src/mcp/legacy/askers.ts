import type { AskFailure, Asker, Asks } from "../../asks.ts";
import type { Client } from "../../call-context.ts";
import { Wait } from "../../suspension.ts";
import { cannotAsk } from "../../servlets/ask-failures.ts";
import { unaskable } from "../wire/answers.ts";

/** Askers for clients that are asked by requests of the server, and for those that cannot be asked. */

/** Interrupts the call for its client's answers, unless there is nothing that the client can be asked. */
export function sessionAsker(client: Client): Asker {
  return async (asks) => {
    const given = sessionFailures(asks, client);
    if (Object.keys(given).length === Object.keys(asks).length) return given;
    throw new Wait({ kind: "input", asks, given });
  };
}

/** The failures of those that a session's client cannot be asked: none of them ends the call by itself. */
export const sessionFailures = (asks: Asks, client: Client): Record<string, AskFailure> =>
  Object.fromEntries(
    Object.entries(unaskable(asks, client)).map(([key, failure]) => {
      const { requiredCapabilities: _, ...rest } = failure;
      return [key, rest];
    }),
  );

/** Why a client cannot be asked anything, and what to do next. */
const UNABLE = {
  "no session":
    "its request belongs to no session. Send initialize, and its Mcp-Session-Id with all that follows.",
  "not initialized": "it has not sent notifications/initialized. Send that before the call.",
  "no stream":
    "its request does not accept a stream. Send Accept: application/json, text/event-stream.",
};

/** Fails whatever is asked. */
export const failingAsker =
  (why: keyof typeof UNABLE): Asker =>
  async (asks) =>
    Object.fromEntries(
      Object.entries(asks).map(([key, ask]) => [key, cannotAsk(ask, UNABLE[why])]),
    );
