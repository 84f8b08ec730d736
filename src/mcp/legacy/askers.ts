import type { AskFailure, Asker, Asks } from "../../core/asks.ts";
import type { Client } from "../../core/call-context.ts";
import { Wait } from "../../core/suspension.ts";
import { Fault } from "../../core/errors.ts";
import { cannotAsk } from "../../servlets/ask-failures.ts";
import { unaskable } from "../../asks/answers.ts";
import { hasTasks, olderAsk, pageIn } from "./shapes.ts";

/** Askers for the clients of sessions, and for clients that cannot be asked. */

/** An asker that interrupts the call until its client answers, unless the client supports none of the asks. */
export function sessionAsker(client: Client): Asker {
  return async (asks) => {
    const given = sessionFailures(asks, client);
    if (Object.keys(given).length === Object.keys(asks).length) return given;
    throw new Wait({ kind: "input", asks, given });
  };
}

/** A failure for each ask that a session's client does not support; none ends the call by itself. */
export const sessionFailures = (asks: Asks, client: Client): Record<string, AskFailure> =>
  Object.fromEntries(
    Object.entries(unaskable(asks, client)).map(([key, failure]) => {
      const { requiredCapabilities: _, ...rest } = failure;
      return [key, rest];
    }),
  );

/** The reason why a client cannot be asked, and what to do next. */
const UNABLE = {
  "no session":
    "its request belongs to no session. Send initialize, and its Mcp-Session-Id with all that follows.",
  "not initialized": "it has not sent notifications/initialized. Send that before the call.",
  "no stream":
    "its request does not accept a stream. Send Accept: application/json, text/event-stream.",
};

/** An asker that fails every ask. */
export const failingAsker =
  (why: keyof typeof UNABLE): Asker =>
  async (asks) =>
    Object.fromEntries(
      Object.entries(asks).map(([key, ask]) => [key, cannotAsk(ask, UNABLE[why])]),
    );

/**
 * The asker of a client that accepts no stream. If only pages are asked for, and the client opens pages, it throws
 * `page_required`, so that the client calls again afterwards; `onPage` gets the id of each.
 */
export function streamlessAsker(client: Client, onPage: (id: string) => void): Asker {
  const fail = failingAsker("no stream");
  const { protocolVersion: version = "" } = client;
  return async (asks, signal) => {
    const wired = Object.values(asks).map((ask) => ({ ...ask, params: olderAsk(ask, version) }));
    const pages = wired.flatMap((ask) => pageIn(ask) ?? []);
    const isAble = hasTasks(version) && Object.keys(unaskable(asks, client)).length === 0;
    if (!isAble || pages.length === 0 || pages.length < wired.length) return fail(asks, signal);
    pages.forEach(onPage);
    const elicitations = wired.map(({ params }) => params);
    throw new Fault("page_required", OPEN_FIRST, { data: { elicitations } });
  };
}

const OPEN_FIRST =
  "This call needs its user to open a page first. Ask the user to, then call again.";
