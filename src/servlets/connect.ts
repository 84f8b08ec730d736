import { Fault } from "../errors.ts";
import { callerKey } from "../callers.ts";
import { JOURNAL_VERSION, type Head } from "../record.ts";
import { callExport, type Durability, type Setup } from "../wasm/call.ts";
import { liveWorld } from "../wasm/world.ts";
import type { BundledServlet } from "./bundle.ts";
import { configOf, guestCredentials, secretOf } from "./config.ts";
import { logRun, type Deployment } from "./deployment.ts";
import { dialects } from "./dialects.ts";
import { fuelOf } from "./manifest.ts";
import type { Servlet } from "./servlet.ts";

/** A servlet that is configured by its manifest and this deployment. */
export function connected(bundled: BundledServlet, deployment: Deployment): Servlet {
  const { manifest, exports } = bundled;
  const { variables, logLevel, log, record, isolation, world = liveWorld } = deployment;
  const isFresh = manifest.isolation === "fresh" || isolation === "fresh";
  const { connect, userFunctions } = dialects[bundled.dialect];
  const program = {
    ...bundled,
    userFunctions,
    restorable: bundled.restorable === true && !isFresh,
    checked: isolation === "checked",
  };
  let config: Record<string, string> | undefined;
  return connect({
    exports,
    idsAsGiven: manifest.request_ids === "as-given",
    run: (name, input, call) => {
      config ??= configOf(bundled, variables);
      const { recorded, keeper, credentials } = call;
      const head: Partial<Head> = recorded?.head ?? {};
      const { version = JOURNAL_VERSION, hash = bundled.hash } = head;
      if (version !== JOURNAL_VERSION || hash !== bundled.hash) {
        throw new Fault(
          "invalid_params",
          `The servlet ${bundled.name} or this server was updated after this call began, so the call cannot continue. Call again.`,
        );
      }
      const setup: Setup & Durability = {
        world,
        config,
        allowedHosts: manifest.allowed_hosts ?? [],
        resends: manifest.resend_requests === true,
        secret: (service, user) => secretOf(bundled, variables, { service, user }),
        logLevel,
        caller: callerKey(call.principal),
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
        recorded,
        seed: call.input?.seed,
        keeper,
      };
      const began = Date.now();
      const ending = callExport(program, name, input, setup);
      if (record === undefined) return ending;
      const about = { servlet: bundled.name, export: name, given: input.length, began };
      return logRun(about, call, { record, ending });
    },
  });
}
