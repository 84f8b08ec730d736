/** Where exports of servlets run that do not run in the isolate that serves them. */
import { Fault } from "../core/errors.ts";
import type { PreparedServlet } from "./bundle.ts";
import type { Deployment, ServletRunner } from "./deployment.ts";
import { keepsState } from "./manifest.ts";

/** The first that takes this servlet; undefined for one that runs here. */
export const runnerFor = (
  servlet: PreparedServlet,
  { runners = [] }: Pick<Deployment, "runners">,
): ServletRunner | undefined => runners.find((one) => one.takes(servlet));

/** Runs servlets that keep state; with `lists`, they are asked for them in the state of a caller. */
export const stateRunner = (
  run: ServletRunner["run"],
  lists?: ServletRunner["lists"],
): ServletRunner => ({
  takes: ({ manifest }) => keepsState(manifest),
  hasState: true,
  run,
  ...(lists && { lists }),
});

/** Runs servlets whose code is not in the bundle. */
export const loadedRunner = (run: ServletRunner["run"]): ServletRunner => ({
  takes: ({ module }) => module === undefined,
  run,
});

/** The fault of a servlet that keeps state, on a server that keeps none. */
export const withoutState = (name: string) =>
  new Fault(
    "unavailable",
    `The servlet ${name} keeps state, and the binding SERVLET_STATES is missing: add the Durable Object to wrangler.toml.`,
  );

/** Refuses servlets that keep state: the last runner of a server, whose features may run them before. */
export const noState: ServletRunner = stateRunner(({ name }) => Promise.reject(withoutState(name)));
