/** Runners of servlets that do not run in the isolate that serves them. */
import { Fault } from "../core/errors.ts";
import type { PreparedServlet } from "./bundle.ts";
import type { Deployment, ServletRunner } from "./deployment.ts";
import { keepsState } from "./manifest.ts";

/** The first runner that accepts this servlet; undefined if it runs here. */
export const runnerFor = (
  servlet: PreparedServlet,
  { runners = [] }: Pick<Deployment, "runners">,
): ServletRunner | undefined => runners.find((one) => one.takes(servlet));

/** Runs servlets that keep state; with `lists`, their lists depend on the caller's state. */
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

/** The fault of a stateful servlet on a server without state. */
export const withoutState = (name: string) =>
  new Fault(
    "unavailable",
    `The servlet ${name} keeps state, and the binding SERVLET_STATES is missing: add the Durable Object to wrangler.toml.`,
  );

/** Refuses stateful servlets: the last runner of a server, after those of features. */
export const noState: ServletRunner = stateRunner(({ name }) => Promise.reject(withoutState(name)));
