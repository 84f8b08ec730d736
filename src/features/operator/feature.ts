import { callerKey } from "../../core/callers.ts";
import type { Feature } from "../../kernel.ts";
import { operatorEndpoint, operatorRefusal } from "./endpoint.ts";
import type { Operations } from "../../http/operations.ts";

/** What the commands of operators ask of a running server: `/operator/…`. */
export const operatorFeature: Feature = {
  name: "operator",
  start: (kernel) => ({
    refusal: { paths: /^\/operator\//, answer: operatorRefusal },
    routes(app) {
      const { authenticator, rateLimiter, started } = kernel;
      const operations = Object.assign({}, ...started.map((one) => one.operations)) as Operations;
      app.all("/operator/*", async ({ req: { raw } }) => {
        const principal = await authenticator.operator(raw);
        const admission = rateLimiter.enter(callerKey(principal), raw);
        const acted = (what: string) => kernel.acted(principal.name, "command", what);
        return admission.until(
          operatorEndpoint(raw, operations, { ...admission.quota, principal, acted }),
        );
      });
    },
  }),
};
