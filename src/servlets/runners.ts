/** Where exports of servlets run that do not run in the isolate that serves them. */
import type { PreparedServlet } from "./bundle.ts";
import type { Deployment, Runner } from "./deployment.ts";
import { keepsState } from "./manifest.ts";

/** The first that takes this servlet; undefined for one that runs here. */
export const runnerFor = (
  servlet: PreparedServlet,
  { runners = [] }: Pick<Deployment, "runners">,
): Runner | undefined => runners.find((one) => one.takes(servlet));

/** Runs servlets that keep state; with `lists`, they are asked for them in the state of a caller. */
export const stateRunner = (run: Runner["run"], lists?: Runner["lists"]): Runner => ({
  takes: ({ manifest }) => keepsState(manifest),
  hasState: true,
  run,
  ...(lists && { lists }),
});

/** Runs servlets whose code is not in the bundle. */
export const loadedRunner = (run: Runner["run"]): Runner => ({
  takes: ({ module }) => module === undefined,
  run,
});
