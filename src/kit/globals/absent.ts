/** Classes of the platform that a servlet cannot use, each of which says what to use instead. */
import { EventTarget } from "./events.ts";

interface Absent {
  new (...given: unknown[]): EventTarget;
  readonly prototype: EventTarget;
  readonly CONNECTING: 0;
  readonly OPEN: 1;
  readonly CLOSING: 2;
  readonly CLOSED: 3;
}

/**
 * Classes that cannot work in a servlet. They are there for packages that extend or only name them; `typeof` of those that
 * packages prefer to `fetch` and the like says undefined (src/languages/typescript/script.ts).
 */
const absent = (name: string, advice: string): Absent => {
  const made = class extends EventTarget {
    constructor(..._given: unknown[]) {
      super();
      throw new DOMException(`There is no ${name} in a servlet: ${advice}`, "NotSupportedError");
    }
  };
  return Object.assign(made, { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 } as const);
};

const FETCH = "use fetch, for the hosts that allowed_hosts in servlet.json names.";
const WORKER =
  "it has one thread. Call the function itself, or give the package its option for no workers.";

export const WebSocket = /* @__PURE__ */ absent(
  "WebSocket",
  `a connection would end with the call. Ask the service over HTTP: ${FETCH}`,
);
export const XMLHttpRequest = /* @__PURE__ */ absent("XMLHttpRequest", FETCH);
export const EventSource = /* @__PURE__ */ absent(
  "EventSource",
  `a connection would end with the call. Read the events of one response: ${FETCH}`,
);
export const Worker = /* @__PURE__ */ absent("Worker", WORKER);
export const SharedWorker = /* @__PURE__ */ absent("SharedWorker", WORKER);
