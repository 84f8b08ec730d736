import type { Feature } from "../../kernel/kernel.ts";
import { objectClassWith } from "../../kernel/object-class.ts";
import type { Settings } from "../../kernel/settings/env.ts";
import { WAIT_FOR_EVENT } from "../../kernel/servlets/scopes.ts";
import type { ConsolePage } from "../console/pages.ts";
import { eventsContributor } from "./catalog.ts";
import { emitFunction } from "./emit.ts";
import { EventServer } from "./event-server.ts";
import { currentType } from "./event-types.ts";
import { Events, type EventsServer } from "./events-object.ts";
import { eventMethods } from "./methods.ts";
import type { ReceiverPolicy } from "./receivers.ts";
import { demandRights } from "./rights.ts";
import { eventsSettings } from "./settings.ts";
import { subscriptionsPage } from "./subscriptions-page.ts";
import { waitForEvent } from "./wait-for-event.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** Events that servlets emit, and subscriptions to them. */
    EVENTS?: DurableObjectNamespace<Events>;
  }
}

/** Events that servlets emit: polled, streamed, delivered to webhooks, and waited for. */
export const eventsFeature: Feature = {
  name: "events",
  settings: eventsSettings,
  start(kernel) {
    const { env, settings } = kernel;
    const { EVENTS: events } = env;
    const registry = () => kernel.registry();
    const objects = {
      Events: objectClassWith((): EventsServer => {
        const { sealer } = kernel.sealing;
        return {
          sealer,
          policy: policyOf(settings),
          countStored: (caller, bytes) => kernel.countStored(caller, bytes),
          demandRights: (spec) =>
            demandRights({ authenticator: kernel.authenticator, registry }, spec),
        };
      }, Events),
    };
    if (events === undefined || kernel.sealer === undefined) return { objects };
    const server = new EventServer({ registry }, events, policyOf(settings));
    const hasTypes = async () =>
      (await registry()).servlets.some(({ manifest }) => manifest.events !== undefined);
    const nameOf = async (type: { servlet: string; own: string }) =>
      currentType(type, await registry())?.name ?? type.own;
    const pages: readonly ConsolePage[] = [subscriptionsPage(server)];
    return {
      objects,
      pages,
      methods: eventMethods(server, hasTypes),
      catalog: eventsContributor(server, nameOf),
      hostFunctions: {
        "events.emit": emitFunction({ events, hubOf: (principal) => kernel.hubOf?.(principal) }),
      },
      tools: { server: { [WAIT_FOR_EVENT]: waitForEvent(server, { registry }) } },
      forget: (caller) => server.forget(caller),
    };
  },
};

/** The hosts to which events may be delivered, and those of this server. */
const policyOf = ({ PUBLIC_URL, ALLOWED_HOSTS, EVENT_HOSTS }: Settings): ReceiverPolicy => ({
  allowed: EVENT_HOSTS.map((host) => host.toLowerCase()),
  own: [...(PUBLIC_URL === undefined ? [] : [new URL(PUBLIC_URL).hostname]), ...ALLOWED_HOSTS],
});
