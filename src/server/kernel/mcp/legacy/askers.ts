/** Askers for the clients of sessions, and for clients that cannot be asked. */
import type { Asker } from "../../core/asks.ts";
import type { ClientDescription, CallContext } from "../../core/call-context.ts";
import { Fault } from "../../core/errors.ts";
import { cannotAsk } from "../../servlets/ask-failures.ts";
import { unaskable } from "../../asks/answers.ts";
import { hasTasks, olderAsk, pageIn } from "./shapes.ts";
import { allReasons, perform, Rerun } from "../../calls/engine.ts";
import type { Json } from "../../core/model.ts";
import { withRecordedAnswer } from "../../core/record.ts";
import type { Suspended } from "../../core/suspension.ts";
import { mapValues } from "../../core/values.ts";
import type { Entry } from "../../servlets/registry.ts";
import type { PersonWay } from "../../asks/links.ts";

/** How often a servlet may return input requests to a client that cannot be asked. */
const UNABLE_RETRIES = 8;

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
    mapValues(asks, (ask) => cannotAsk(ask, UNABLE[why]));

/**
 * The asker of a client that accepts no stream. If all asks are pages, and the client can open pages, it throws
 * `page_required`, so that the client calls again afterwards; `onPage` gets the id of each page.
 */
export function streamlessAsker(client: ClientDescription, onPage: (id: string) => void): Asker {
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

/**
 * Runs a call whose `ask` never waits. A servlet that returns an input request is called again with the answers. With
 * `person`, a call that needs a person, or that its gate stops, is handed over: the result is the link. With `from`, a
 * suspended call continues.
 */
export function runToEnd(
  entry: Entry,
  call: CallContext,
  person?: PersonWay,
  from?: Suspended,
): Promise<Json> {
  const { ask: own } = call;
  const ask = person ? person.asker(own) : own;
  const gate = person?.gate && { gate: person.gate };
  let left = UNABLE_RETRIES;
  return perform<Json>(
    entry,
    { ...call, ...gate, ask },
    {
      ended: (result) => result,
      waits: {
        ...allReasons((waiting) => person?.take(waiting) ?? unending()),
        async input(waiting) {
          const link = await person?.take(waiting);
          if (link !== undefined) return link;
          if (--left <= 0) unending();
          const { state, fuelUsed, reason, recorded } = waiting;
          const responses = await call.ask(reason.asks, call.signal());
          // A nested call has returned it.
          if (recorded !== undefined) {
            const answer = JSON.stringify(responses);
            return new Rerun({
              fuelUsed,
              recorded: withRecordedAnswer(recorded, answer, Date.now()),
            });
          }
          return new Rerun({
            fuelUsed,
            input: { responses, ...(state !== undefined && { state }) },
          });
        },
      },
    },
    from,
  );
}

function unending(): never {
  throw new Fault(
    "servlet_failed",
    "The servlet keeps asking for input although its client cannot be asked. Use a client that can, or report this to the servlet's author.",
  );
}
