import { waitUntil } from "cloudflare:workers";
import { report } from "../../kernel/core/errors.ts";
import type { Feature } from "../../kernel/kernel.ts";
import { objectClassWith } from "../../kernel/object-class.ts";
import { peopleFeature } from "../people/feature.ts";
import { tasksFeature } from "../tasks/feature.ts";
import { receiveDelivery, refusedDelivery, RefusedDeliveries } from "./endpoint.ts";
import { HookObject } from "./hook-object.ts";
import { HookObjects } from "./hook-objects.ts";
import { webhookFunctions } from "./host-functions.ts";
import { ownWebhooksPage, webhooksPage } from "./webhooks-page.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** Webhooks of servlets, with `KEY_RING`, `PROFILES` and `TASKS`. */
    HOOKS?: DurableObjectNamespace<HookObject>;
  }
}

const PATHS = ["/hooks/:servlet/:hook", "/hooks/:servlet/:hook/:token"];

/** Webhooks: addresses at which servlets receive requests of other services. */
export const webhooksFeature: Feature = {
  name: "webhooks",
  needs: [tasksFeature, peopleFeature],
  start(kernel) {
    const { env, sealer, rateLimiter } = kernel;
    const objects = {
      Hooks: objectClassWith(
        () => ({
          sealer: kernel.sealing.sealer,
          authenticator: kernel.authenticator,
          registry: () => kernel.registry(),
          ...(kernel.unattended && { unattended: kernel.unattended }),
        }),
        HookObject,
      ),
    };
    const { HOOKS } = env;
    if (HOOKS === undefined || sealer === undefined || kernel.unattended === undefined)
      return { objects };
    const hooks = new HookObjects(HOOKS, sealer);
    const refusals = new RefusedDeliveries((place, counts) =>
      waitUntil(hooks.at(place, async (object) => object.noteRefused(place, counts)).catch(report)),
    );
    let origin: string | undefined;
    return {
      objects,
      refusal: { paths: /^\/hooks\//, answer: (fault) => refusedDelivery(fault) },
      hostFunctions: webhookFunctions(kernel, hooks, () => origin),
      forget: (caller) => hooks.ofCaller(caller, async (object) => object.forget()),
      async served(_registry, request) {
        origin = new URL(request.url).origin;
      },
      pages: [webhooksPage(kernel, hooks), ownWebhooksPage(kernel, hooks)],
      routes(app) {
        app.all(PATHS[0]!, ({ req }) => receive(req.raw, req.param()));
        app.all(PATHS[1]!, ({ req }) => receive(req.raw, req.param()));
        const receive = (raw: Request, { servlet, hook, token }: Record<string, string>) => {
          const admission = rateLimiter.enterUnknown(raw);
          const place = { servlet: servlet!, hook: hook!, token };
          const work = async () => {
            await admission.quota.admit?.();
            return receiveDelivery(raw, place, { kernel, objects: hooks, refusals });
          };
          return admission.until(work());
        };
      },
    };
  },
};
