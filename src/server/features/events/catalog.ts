/** Events in the catalog: a resource for each type, the capability, and the tool that waits for them. */
import { isObject, type Json, type Lists } from "../../kernel/core/model.ts";
import { oncePer } from "../../kernel/core/once-per.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import type { Catalog, Contributor, OwnResource } from "../../kernel/servlets/catalog.ts";
import { WAIT_FOR_EVENT } from "../../kernel/servlets/scopes.ts";
import type { EventServer } from "./event-server.ts";
import { EVENT_SCHEME, eventUri } from "./event-types.ts";
import { CAPABILITY, EVENTS_EXTENSION } from "./wire.ts";

/** What events add to the catalog. */
export function eventsContributor(
  server: EventServer,
  nameOf: (of: { servlet: string; own: string }) => Promise<string>,
): Contributor {
  const resourcesOf = oncePer((servlet: PreparedServlet) =>
    Object.entries(servlet.manifest.events ?? {}).map(([own, spec]): OwnResource => {
      const type = { servlet: servlet.name, own };
      const uri = eventUri(type);
      const resource = {
        uri,
        name: own,
        description: `${spec.description} The newest of these events, as JSON; null if there is none. Subscribe to hear of the next.`,
        mimeType: "application/json",
      };
      return {
        kind: "resources",
        resource,
        grantedAs: own,
        async read(_stored, caller) {
          const isShared = spec.to === "everyone";
          const name = await nameOf(type);
          const newest = await server.newest({ ...type, name, spec, isShared }, caller);
          const text = JSON.stringify(newest ?? null);
          return { contents: [{ uri, mimeType: "application/json", text }] };
        },
      };
    }),
  );
  return {
    resources: resourcesOf,
    capabilities: (catalog) => (hasEvents(catalog) ? CAPABILITY : {}),
    extensions: (catalog, client, isModern) =>
      hasEvents(catalog) && (isModern || knowsEvents(client)) ? { [EVENTS_EXTENSION]: {} } : {},
    listsFor: (lists) => (isWaitedFor(lists) ? lists : withoutWaiting(lists)),
  };
}

/** True if a catalog has types of events. */
const hasEvents = ({ resources }: Catalog): boolean =>
  resources
    .values()
    .some(({ resource, grantedAs }) => grantedAs !== undefined && isEvent(resource));

const isEvent = ({ uri }: { uri: string }): boolean => uri.startsWith(EVENT_SCHEME);

const isWaitedFor = ({ resources }: Lists): boolean => resources.some(isEvent);

/** The lists without the tool that waits for events; the same object if they lack it. */
const withoutWaiting = oncePer((lists: Lists): Lists => {
  const tools = lists.tools.filter(({ name }) => name !== WAIT_FOR_EVENT);
  return tools.length === lists.tools.length ? lists : { ...lists, tools };
});

const knowsEvents = ({ extensions }: Json): boolean =>
  isObject(extensions) && extensions[EVENTS_EXTENSION] !== undefined;
