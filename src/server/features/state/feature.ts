import type { Feature } from "../../kernel/kernel.ts";
import { objectClassWith } from "../../kernel/object-class.ts";
import { operatedStates } from "./operated-states.ts";
import { ServletState } from "./servlet-state.ts";
import { stateOperations } from "./state-operations.ts";
import { documentsIn, type DocumentsOf } from "./documents.ts";
import { stateful } from "./servlet-states.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** Servlets that keep state. */
    SERVLET_STATES?: DurableObjectNamespace<ServletState>;
  }
}

declare module "../../kernel/kernel.ts" {
  interface Parts {
    /** What features keep beside the state of servlets. */
    documents?: DocumentsOf;
  }
}

/** State and files that servlets keep between calls. */
export const stateFeature: Feature = {
  name: "state",
  start(kernel) {
    const { SERVLET_STATES: objects } = kernel.env;
    const states = operatedStates(kernel.env, () => kernel.stateOwners());
    return {
      ...(objects && { parts: { documents: documentsIn(objects) } }),
      runner: stateful(kernel.env),
      operations: stateOperations({
        states,
        sessionState: async (id) => (kernel.sessions ? kernel.sessions.stateId(id) : id),
      }),
      forget: states.forgetCaller,
      objects: { ServletState: objectClassWith(() => kernel.sealing, ServletState) },
    };
  },
};
