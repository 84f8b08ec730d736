/** The host function by which servlets emit events. */
import { waitUntil } from "cloudflare:workers";
import * as z from "zod/mini";
import { callerKey } from "../../kernel/core/callers.ts";
import type { CallContext } from "../../kernel/core/call-context.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import { isServletPrincipal, type Principal } from "../../kernel/core/model.ts";
import { nearest } from "../../kernel/core/nearest.ts";
import { Notes } from "../../kernel/core/notes.ts";
import { once } from "../../kernel/core/once.ts";
import { retry } from "../../kernel/core/retry.ts";
import { unsettled, type Settled } from "../../kernel/core/settled.ts";
import { stringBytes } from "../../kernel/core/text.ts";
import type { Publisher } from "../../kernel/calls/changes.ts";
import type { FeatureFunction } from "../../kernel/servlets/deployment.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import { dataIssues, eventUri, typeKey } from "./event-types.ts";
import { EVERYONE, logOf, type Events } from "./events-object.ts";
import { limits } from "./limits.ts";

const payloadSchema = once(() =>
  z.strictObject({
    name: z.string("name must be the name of an event"),
    data: z.record(z.string(), z.unknown(), "data must be an object"),
    id: z
      .string("id must be a string")
      .check(z.regex(/^[!-~]{1,200}$/, "id must be 1 to 200 visible ASCII characters")),
    to: z.optional(z.literal("everyone", 'to must be "everyone", or left out')),
  }),
);

/** The key under which a caller's events are stored: anonymous callers whose network is unknown share one. */
export const eventsKey = (principal: Principal): string => callerKey(principal) ?? principal.name;

interface Emitting {
  events: DurableObjectNamespace<Events>;
  /** Undefined if no client can listen. */
  hubOf(principal: Principal): Publisher | undefined;
}

/** `events.emit`: stores an event in the log of the caller, or of everyone. An event that the log has is not stored again. */
export function emitFunction({ events, hubOf }: Emitting): FeatureFunction {
  const emitted = new Notes<CallContext, { count: number }>();
  return async (payload, { servlet, call }) => {
    const { name, id, data, to } = payloadIn(payload);
    const spec = specOf(servlet, name);
    if (to === "everyone" && spec.to !== "everyone")
      throw refused(
        `The event ${name} is not for everyone: add to: "everyone" to its definition, or leave out \`to\``,
      );
    if (to === undefined && isServletPrincipal(call.principal.name))
      throw refused(
        `Nobody would hear the event ${name}: this run has no caller. Emit it with to: "everyone"`,
      );
    const bytes = stringBytes(JSON.stringify(data));
    if (bytes > limits.eventDataBytes)
      throw refused(
        `The data of the event ${name} has ${bytes} bytes (limit ${limits.eventDataBytes}). Emit less, such as where the rest is`,
      );
    const issues = dataIssues(spec, name, data);
    if (issues !== undefined)
      throw refused(`The data does not match the payload of the event ${name}: ${issues}`);
    countIn(call, emitted);
    const { principal } = call;
    const type = typeKey({ servlet: servlet.name, own: name });
    const log = to === undefined ? logOf(eventsKey(principal)) : EVERYONE;
    try {
      // RPC types cannot express JSON.
      const appended: unknown = await retry<unknown>(async () =>
        events.getByName(log).append({ type, id, data }, callerKey(principal)),
      );
      unsettled(appended as Settled<boolean>);
    } catch (error) {
      const fault = Fault.from(error);
      if (fault.code !== "too_many") throw error;
      throw refused(fault.message);
    }
    const audience =
      to === undefined ? { caller: callerKey(principal) ?? "" } : ({ everybody: true } as const);
    const uri = eventUri({ servlet: servlet.name, own: name });
    const changed = { method: "notifications/resources/updated", params: { uri }, audience };
    // The call does not wait. A notification that is lost can be made up for by reading.
    const hub = hubOf(principal);
    if (hub) waitUntil(hub.publish([changed]).catch(report));
    return { id };
  };
}

function payloadIn(payload: unknown) {
  const { data, error } = z.safeParse(payloadSchema(), payload);
  if (data !== undefined) return data;
  const [{ path, message }] = error.issues as [z.core.$ZodIssue];
  throw refused(path.length > 1 ? `${path.join(".")}: ${message}` : message);
}

/** The definition of a servlet's event. Throws `invalid_params`. */
function specOf({ manifest: { events = {} } }: PreparedServlet, name: string) {
  if (Object.hasOwn(events, name)) return events[name]!;
  const meant = nearest(name, Object.keys(events));
  const hint = meant === undefined ? "Add it to `events`" : `Did you mean ${meant}`;
  throw refused(
    `The servlet does not define the event ${name.slice(0, 100)}. ${hint}${meant === undefined ? "" : "?"}`,
  );
}

/** Counts the events of one run. Throws `invalid_params` above the limit. */
function countIn(call: CallContext, emitted: Notes<CallContext, { count: number }>): void {
  const { eventsPerCall: most } = limits;
  const counted = emitted.get(call) ?? { count: 0 };
  emitted.set(call, counted);
  if (++counted.count > most)
    throw refused(`The call emitted too many events (limit ${most}). Put several things in one`);
}

const refused = (why: string): Fault =>
  new Fault("invalid_params", /[.?]$/.test(why) ? why : `${why}.`);
