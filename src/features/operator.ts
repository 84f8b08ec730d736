import { callerKey } from "../core/callers.ts";
import type { Feature } from "../kernel.ts";
import { installerOf } from "../operator/builds.ts";
import { operatorEndpoint, operatorRefusal } from "../operator/endpoint.ts";

/** What the commands of operators ask of a running server: `/operator/…`. */
export const operatorFeature: Feature = {
  name: "operator",
  start: (kernel) => ({
    refusal: { paths: /^\/operator\//, answer: operatorRefusal },
    routes(app) {
      app.all("/operator/*", async ({ req: { raw } }) => {
        const { authenticator, rateLimiter, states, sessions } = kernel;
        const principal = await authenticator.operator(raw);
        const admission = rateLimiter.enter(callerKey(principal), raw);
        return admission.until(
          operatorEndpoint(raw, {
            ...admission.quota,
            principal,
            acted: (what) => kernel.acted(principal.name, "command", what),
            states,
            sessionState: async (id) => (sessions ? sessions.stateId(id) : id),
            installer: () => installerOf(kernel),
          }),
        );
      });
    },
  }),
};
