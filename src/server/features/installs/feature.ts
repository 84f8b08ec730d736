import type { Facets } from "../state/state-backend.ts";
import type { Feature } from "../../kernel/kernel.ts";
import { bucketOf } from "./bucket.ts";
import { InstalledServlets } from "./installed-servlets.ts";
import { Installer } from "./installer.ts";
import { Installs } from "./installs.ts";
import { ServletLoader } from "./loaded.ts";
import { stateFeature } from "../state/feature.ts";
import { facetsWith } from "./state-facet.ts";
import { objectClassWith } from "../../kernel/object-class.ts";
import { buildOperations } from "./builds.ts";
import { installerOf } from "../../kernel/http/operations.ts";
import { installerTools } from "./tools.ts";
import { loadedRunner } from "../../kernel/servlets/runners.ts";
import { ownNamesOf } from "../../kernel/settings/env.ts";
import { copiesOf, copyFor, nearestCopy } from "../../kernel/storage/copies.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** Installed servlets, and calls that continue with an old build, with `LOADER` and `INSTALLS`. */
    BUILDS?: R2Bucket;
    /** Installed servlets, with `LOADER` and `BUILDS`. */
    INSTALLS?: DurableObjectNamespace<Installs>;
    /** Installed servlets, with `BUILDS` and `INSTALLS`. */
    LOADER?: WorkerLoader;
  }
}

declare module "../../kernel/kernel.ts" {
  interface Parts {
    installer?: Installer;
    /** Where installed servlets keep their state. */
    facets?: Facets;
  }
}

/** The name of the Durable Object with the installed servlets. */
const INSTALLED = "installs";

/** Servlets that operators install while the server runs, and calls that continue with an old build. */
export const installsFeature: Feature = {
  name: "installs",
  needs: [stateFeature],
  start(kernel) {
    const { env, bundle, settings } = kernel;
    const objects = { Installs: objectClassWith(() => kernel, Installs) };
    const operations = buildOperations(() => installerOf(kernel));
    const { LOADER, INSTALLS, TASKS } = env;
    const { runner } = bundle;
    const bucket = bucketOf(env);
    if (!LOADER || !bucket || !INSTALLS || !runner) return { objects, operations };
    const loader = new ServletLoader({
      loader: LOADER,
      bucket,
      runner,
      deployment: () => kernel.deployment,
    });
    const named = (name: string) => INSTALLS.getByName(name);
    const registry = () => kernel.registry();
    const installer = new Installer({
      bucket,
      loader,
      registry,
      tasks: TASKS,
      installs: () => named(INSTALLED),
      waiting: () => copiesOf(INSTALLED, env).map(named),
      ownNames: ownNamesOf(settings, env),
      keepsState: env.SERVLET_STATES !== undefined,
      hasWebhooks: env.HOOKS !== undefined,
    });
    const others = new InstalledServlets({
      installer,
      nearest: nearestCopy(INSTALLS, INSTALLED, env),
      waitsOf: (task) => named(copyFor(INSTALLED, task, env)),
      registryWith: (installed) => kernel.registryWith(installed),
    });
    const recordAct = (by: string, what: string) => kernel.recordAct(by, "agent", what);
    return {
      objects,
      operations,
      parts: { installer, others, facets: facetsWith(loader) },
      runner: loadedRunner(loader.run.bind(loader)),
      deployment: {
        oldBuild: (hash) => others.oldBuild(hash),
        storedPart: bucket.part.bind(bucket),
      },
      tools: installerTools({ recordAct, installer, registry }),
    };
  },
};
