import type { Feature } from "../kernel.ts";
import { madeWith } from "../object-class.ts";
import { ServletState } from "../state/servlet-state.ts";
import { stateful } from "../state/servlet-states.ts";

/** State and files that servlets keep between calls. */
export const stateFeature: Feature = {
  name: "state",
  start(kernel) {
    return {
      deployment: stateful(kernel.env),
      objects: { ServletState: madeWith(() => kernel.sealing, ServletState) },
    };
  },
};
