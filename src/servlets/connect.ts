import { Fault } from "../errors.ts";
import { callerKey } from "../callers.ts";
import { JOURNAL_VERSION, type Head } from "../record.ts";
import type { CallContext, CallCredentials, Trace } from "../call-context.ts";
import { callExport, type Program, type Setup } from "../wasm/call.ts";
import { liveWorld } from "../wasm/world.ts";
import type { BundledServlet } from "./bundle.ts";
import { configOf, guestCredentials, secretOf } from "./config.ts";
import { logRun, type Deployment } from "./deployment.ts";
import { dialects } from "./dialects.ts";
import { fuelOf, keepsState } from "./manifest.ts";
import type { Servlet } from "./servlet.ts";

/** The parts of a call that its guest may use. */
export interface CallParts {
  /** The caller key; absent where it is not known who is calling. */
  caller: string | undefined;
  trace: Trace | undefined;
  fuelUsed: number | undefined;
  credentials: CallCredentials | undefined;
}

export const partsOf = (call: CallContext): CallParts => ({
  caller: callerKey(call.principal),
  trace: call.trace,
  fuelUsed: call.fuelUsed,
  credentials: call.credentials,
});

export function programOf(bundled: BundledServlet, { isolation }: Deployment): Program {
  const isFresh = bundled.manifest.isolation === "fresh" || isolation === "fresh";
  return {
    ...bundled,
    userFunctions: dialects[bundled.dialect].userFunctions,
    restorable: bundled.restorable === true && !isFresh,
    checked: isolation === "checked",
  };
}

const configs = new WeakMap<Deployment, Map<BundledServlet, Record<string, string>>>();

function knownConfig(bundled: BundledServlet, deployment: Deployment): Record<string, string> {
  let known = configs.get(deployment);
  if (known === undefined) configs.set(deployment, (known = new Map()));
  let config = known.get(bundled);
  if (config === undefined) known.set(bundled, (config = configOf(bundled, deployment.variables)));
  return config;
}

/** Host services that a guest of this servlet may use in a call. */
export function setupOf(
  bundled: BundledServlet,
  deployment: Deployment,
  call: CallParts & Pick<CallContext, "signal" | "notify" | "ask" | "gate" | "sending">,
): Setup {
  const { manifest } = bundled;
  const { variables, logLevel, log, world = liveWorld } = deployment;
  const { credentials } = call;
  return {
    world,
    config: knownConfig(bundled, deployment),
    allowedHosts: manifest.allowed_hosts ?? [],
    resends: manifest.resend_requests === true,
    keepsState: keepsState(manifest),
    secret: (service, user) => secretOf(bundled, variables, { service, user }),
    logLevel,
    caller: call.caller,
    trace: call.trace,
    fuel: fuelOf(manifest),
    fuelUsed: call.fuelUsed,
    signal: call.signal,
    log: (level, text) => log(bundled.name, level, text),
    notify: call.notify,
    ask: call.ask,
    ...(call.gate && { gate: call.gate }),
    ...(call.sending && { sending: call.sending }),
    ...(credentials && { credentials: guestCredentials(bundled, credentials) }),
  };
}

/** A servlet that is configured by its manifest and this deployment. */
export function connected(bundled: BundledServlet, deployment: Deployment): Servlet {
  const { manifest, exports } = bundled;
  const { record, runStateful } = deployment;
  const program = programOf(bundled, deployment);
  return dialects[bundled.dialect].connect({
    exports,
    idsAsGiven: manifest.request_ids === "as-given",
    run: (name, input, call) => {
      const { recorded, keeper } = call;
      const head: Partial<Head> = recorded?.head ?? {};
      const { version = JOURNAL_VERSION, hash = bundled.hash } = head;
      if (version !== JOURNAL_VERSION || hash !== bundled.hash) {
        throw new Fault(
          "invalid_params",
          `The servlet ${bundled.name} or this server was updated after this call began, so the call cannot continue. Call again.`,
        );
      }
      const began = Date.now();
      const ending =
        runStateful !== undefined && keepsState(manifest)
          ? runStateful(bundled, { export: name, input }, call)
          : callExport(program, name, input, {
              ...setupOf(bundled, deployment, { ...call, ...partsOf(call) }),
              recorded,
              seed: call.input?.seed,
              keeper,
            });
      if (record === undefined) return ending;
      const about = { servlet: bundled.name, export: name, given: input.length, began };
      return logRun(about, call, { record, ending });
    },
  });
}
