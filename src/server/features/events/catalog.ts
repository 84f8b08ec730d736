/** Events in the catalog: a resource for each type, and the capability. */
import { isObject, type Json } from "../../kernel/core/model.ts";
import { oncePer } from "../../kernel/core/once-per.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import { hasEvents, type Contributor, type OwnResource } from "../../kernel/servlets/catalog.ts";
import type { EventServer } from "./event-server.ts";
import { eventUri } from "./event-types.ts";
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
        description: `${spec.description.replace(/(?<![.!?])$/, ".")} The newest of these events, as JSON; null if there is none. Subscribe to be told of the next.`,
        mimeType: "application/json",
      };
      return {
        kind: "resources",
        resource,
        isEvent: true,
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
  };
}

const knowsEvents = ({ extensions }: Json): boolean =>
  isObject(extensions) && extensions[EVENTS_EXTENSION] !== undefined;
