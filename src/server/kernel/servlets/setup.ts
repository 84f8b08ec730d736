import { callerKey } from "../core/callers.ts";
import {
  CALL_FUNCTIONS,
  type CallContext,
  type CallCredentials,
  type CallFunctions,
  type RunContext,
} from "../core/call-context.ts";
import { limits } from "../core/limits.ts";
import { oncePer } from "../core/once-per.ts";
import { viewUri } from "../core/views.ts";
import type { Trace } from "../observe/trace-context.ts";
import type { Setup } from "../wasm/setup.ts";
import { liveWorld } from "../wasm/world.ts";
import { withAccounts } from "./accounts.ts";
import type { PreparedServlet } from "./bundle.ts";
import { configOf, guestCredentials, hidingOwn, secretOf } from "./config.ts";
import type { Deployment } from "./deployment.ts";
import { fuelOf, keepsState } from "./manifest.ts";

/** The parts of a call that its guest may use. */
export interface CallParts {
  /** The caller key; absent if the caller is unknown. */
  caller: string | undefined;
  trace: Trace | undefined;
  fuelUsed: number | undefined;
  credentials: CallCredentials | undefined;
  /** The budget share of a nested call. */
  share: CallContext["share"];
  /** Its path among nested calls. */
  place: string | undefined;
}

export const callPartsOf = (call: CallContext): CallParts => ({
  caller: callerKey(call.principal),
  trace: call.trace,
  fuelUsed: call.fuelUsed,
  credentials: call.credentials,
  share: call.share,
  place: call.chain?.place,
});

const configs = oncePer(({ variables }: Deployment) =>
  oncePer((bundled: PreparedServlet) => configOf(bundled, variables)),
);

const hidings = oncePer(({ variables }: Deployment) =>
  oncePer((bundled: PreparedServlet) => hidingOwn(bundled, variables)),
);

/** Copies the functions that a call has. */
function copyFunctions(from: CallFunctions, to: CallFunctions): void {
  for (const name of CALL_FUNCTIONS) if (from[name]) to[name] = from[name] as never;
}

/** Host services that a guest of this servlet may use in a call. */
export function setupOf(
  bundled: PreparedServlet,
  deployment: Deployment,
  call: CallParts & RunContext,
): Setup {
  const { manifest } = bundled;
  const { variables, logLevel, log, world = liveWorld } = deployment;
  const { credentials, caller, share } = call;
  const setup: Setup = {
    world: manifest.accounts
      ? withAccounts(world, bundled, { accounts: deployment.accounts, caller })
      : world,
    config: configs(deployment)(bundled),
    allowedHosts: manifest.allowed_hosts ?? [],
    resends: manifest.resend_requests === true,
    keepsState: keepsState(manifest),
    secret: (service, user) => secretOf(bundled, variables, { service, user }),
    logLevel,
    caller,
    trace: call.trace,
    fuel: share ? Math.min(share.fuel, fuelOf(manifest) ?? limits.guestFuel) : fuelOf(manifest),
    waitMs: share && Math.min(share.waitMs, limits.waitMs),
    place: call.place,
    fuelUsed: call.fuelUsed,
    signal: call.signal,
    log: (level, text) => log(bundled.name, level, text),
    notify: call.notify,
    ask: call.ask,
    // A servlet need not know the name that it is served under.
    viewUri: (named) =>
      Object.keys(manifest.views ?? {})
        .map((view) => ({ view, uri: viewUri(bundled.name, view) }))
        .find(({ view, uri }) => view === named || uri === named)?.uri,
    confirmsCalls: manifest.confirm_calls !== undefined,
  };
  // Assignments instead of spreads, which cost each call a microsecond here.
  copyFunctions(call, setup);
  if (credentials) setup.credentials = guestCredentials(bundled, credentials);
  if (manifest.allowed_secrets?.length) setup.hide = hidings(deployment)(bundled);
  return setup;
}
