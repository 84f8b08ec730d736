import { otcPrincipal, sharedSecret } from "./proofs.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import type { Feature } from "../../kernel/kernel.ts";
import { objectClassWith } from "../../kernel/object-class.ts";
import { CallRecord, CallRecords } from "./call-record.ts";
import { callTool, listTools } from "./endpoint.ts";
import { LATEST } from "./request.ts";
import { errorResponse } from "./reply.ts";
import { otcSettings } from "./settings.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** The `call_id` of Open Tool Calling, with `KEY_RING`. */
    CALL_RECORDS?: DurableObjectNamespace<CallRecord>;
  }
}

/** Open Tool Calling: `/tools` and `/tools/call`. */
export const otcFeature: Feature = {
  name: "otc",
  settings: otcSettings,
  start(kernel) {
    const { env, sealer, settings, rateLimiter } = kernel;
    const { OTC_JWT_SECRET: secret, OTC_JWT_AUDIENCE: audiences } = settings;
    const shared = secret === undefined ? undefined : sharedSecret(secret, audiences);
    const records = sealer && env.CALL_RECORDS && new CallRecords(env.CALL_RECORDS);
    return {
      objects: { CallRecord: objectClassWith(() => kernel.sealing, CallRecord) },
      // The specification of Open Tool Calling defines `/health`, too.
      refusal: { paths: /^\/(tools|health)\b/, answer: (fault) => errorResponse(fault) },
      health: { $schema: LATEST },
      routes(app) {
        const { authenticator, pagesFor, tasks } = kernel;
        for (const [path, answer] of Object.entries({
          "/tools": listTools,
          "/tools/call": callTool,
        }))
          app.all(path, async ({ req: { raw } }) => {
            const principal = await otcPrincipal(raw, { authenticator, shared });
            const registry = (await kernel.registry()).for({ principal });
            const admission = rateLimiter.enter(callerKey(principal), raw);
            const { quota } = admission;
            const pages = pagesFor?.(principal, raw);
            const own = { tasks: tasks?.(principal, quota.countStored), pages, records };
            return admission.until(answer(raw, { ...quota, ...own, registry, principal }));
          });
      },
    };
  },
};
