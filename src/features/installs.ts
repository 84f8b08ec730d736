import type { Feature } from "../kernel.ts";
import { bucketOf } from "../installs/bucket.ts";
import { InstalledServlets } from "../installs/installed-servlets.ts";
import { Installer } from "../installs/installer.ts";
import { Installs } from "../installs/installs.ts";
import { ServletLoader } from "../installs/loaded.ts";
import { facetsWith } from "../installs/state-facet.ts";
import { madeWith } from "../object-class.ts";
import { buildOperations } from "../operator/builds.ts";
import { installerOf } from "../installs/installer-of.ts";
import { installerTools } from "../operator/tools.ts";
import { ownNamesOf } from "../settings/env.ts";
import { copiesOf, copyFor, nearestCopy } from "../storage/copies.ts";

/** The name of the object that has the installed servlets. */
const INSTALLED = "installs";

/** Servlets that operators install while the server runs, and calls that go on with an old build. */
export const installsFeature: Feature = {
  name: "installs",
  start(kernel) {
    const { env, bundle, settings } = kernel;
    const objects = { Installs: madeWith(() => kernel, Installs) };
    const operations = buildOperations(() => installerOf(kernel));
    const { LOADER, INSTALLS, TASKS } = env;
    const { runner } = bundle;
    const bucket = bucketOf(env);
    if (!LOADER || !bucket || !INSTALLS || !runner) return { objects, operations };
    const loader = new ServletLoader({
      ...{ loader: LOADER, bucket, runner },
      deployment: () => kernel.deployment,
    });
    const named = (name: string) => INSTALLS.getByName(name);
    const registry = () => kernel.registry();
    const installer = new Installer({
      ...{ bucket, loader, registry, tasks: TASKS },
      installs: () => named(INSTALLED),
      waiting: () => copiesOf(INSTALLED, env).map(named),
      ownNames: ownNamesOf(settings, env),
    });
    const others = new InstalledServlets({
      installer,
      nearest: nearestCopy(INSTALLS, INSTALLED, env),
      waitsOf: (task) => named(copyFor(INSTALLED, task, env)),
      registryWith: (installed) => kernel.registryWith(installed),
    });
    const acted = (by: string, what: string) => kernel.acted(by, "agent", what);
    return {
      objects,
      operations,
      parts: { installer, others, facets: facetsWith(loader) },
      deployment: {
        runLoaded: loader.run.bind(loader),
        oldBuild: (hash) => others.oldBuild(hash),
        storedPart: bucket.part.bind(bucket),
      },
      tools: installerTools({ acted, installer, registry }),
    };
  },
};
