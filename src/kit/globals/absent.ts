/** Classes of the web platform that a servlet cannot use; their constructors throw an error that names an alternative. */
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
 * Makes a class that cannot work in a servlet. It exists for packages that extend it or only mention it; for classes that
 * packages prefer to `fetch` and the like, `typeof` says undefined (src/languages/typescript/script.ts).
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
