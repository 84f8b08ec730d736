import { originOf } from "../../kernel/auth/origin.ts";
import { servletPrincipal } from "../../kernel/core/model.ts";
import { retry } from "../../kernel/core/retry.ts";
import type { Feature } from "../../kernel/kernel.ts";
import { objectClassWith } from "../../kernel/object-class.ts";
import { peopleFeature } from "../people/feature.ts";
import { tasksFeature } from "../tasks/feature.ts";
import { Starts } from "../tasks/starts.ts";
import { scheduleFunctions, type SchedulesOf } from "./functions.ts";
import { declaredIn } from "./schedule.ts";
import { Schedules, type ScheduleServer } from "./schedules.ts";
import { schedulesPage } from "./schedules-page.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** The schedules of callers and servlets; required by servlets with schedules. */
    SCHEDULES?: DurableObjectNamespace<Schedules>;
  }
}

/** Owners whose runs are made at once, as a factor of the runs that begin at once: making one mostly waits for storage. */
const MADE_AT_ONCE = 3;

/** Runs of servlets at set times: those of their manifests, and those that callers have made. */
export const schedulesFeature: Feature = {
  name: "schedules",
  needs: [tasksFeature, peopleFeature],
  start(kernel) {
    const { SCHEDULES: objects } = kernel.env;
    const makings = new Starts(MADE_AT_ONCE);
    const parts = {
      objects: {
        Schedules: objectClassWith((): ScheduleServer => {
          const { authenticator, rateLimiter, sealing, unattended } = kernel;
          const registry = () => kernel.registry();
          const given = { authenticator, rateLimiter, registry, makings, sealer: sealing.sealer };
          return { ...given, ...(unattended && { unattended }) };
        }, Schedules),
      },
    };
    if (objects === undefined || kernel.unattended === undefined) return parts;
    const of: SchedulesOf = (caller) => objects.getByName(caller);
    return {
      ...parts,
      hostFunctions: scheduleFunctions(of, kernel),
      async served({ servlets }, request) {
        const origin = kernel.settings.PUBLIC_URL ?? originOf(request);
        const made = Date.now();
        await Promise.all(
          servlets.map(async (servlet) => {
            const { name } = servlet;
            const principal = servletPrincipal(name);
            const maker = { principal, origin, made };
            const all = declaredIn(servlet).map((declared) => ({ ...declared, ...maker }));
            // Alarms delete the schedules of a servlet whose manifest has no more of them.
            if (all.length > 0) await retry(() => of(principal.name).declare(name, all));
          }),
        );
      },
      forget: async (caller) => of(caller).forgetAll(),
      pages: [schedulesPage(kernel, of)],
    };
  },
};
