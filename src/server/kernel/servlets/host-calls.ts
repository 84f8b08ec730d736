/** Host functions of features, for the guests of calls. */
import type { CallContext, HostAnswer, HostCall } from "../core/call-context.ts";
import { Fault, orAborted } from "../core/errors.ts";
import { limits } from "../wasm/limits.ts";
import { beginningOf, textIn } from "../core/text.ts";
import type { PreparedServlet } from "./bundle.ts";
import type { Deployment } from "./deployment.ts";

/** Calls host functions for the guest of one run. */
export function callHostBy(of: {
  servlet: PreparedServlet;
  call: CallContext;
  deployment: Deployment;
}): NonNullable<CallContext["callHost"]> {
  const { servlet, call, deployment } = of;
  let left = limits.hostCalls;
  return async ({ name, payload }: HostCall, signal): Promise<HostAnswer> => {
    const run = deployment.hostFunctions?.get(name);
    if (run === undefined) {
      const shown = beginningOf(textIn(name), 100);
      const failed = `There is no host function ${shown}: its name is misspelt, or the feature that has it is not in this server.`;
      return { failed };
    }
    if (--left < 0)
      return {
        failed: `The servlet made too many calls of host functions in one call (limit ${limits.hostCalls}). Split the work into several calls.`,
      };
    try {
      const result = (await orAborted(run(payload, { servlet, call, signal }), signal)) ?? null;
      return { result };
    } catch (error) {
      const { code, message } = Fault.from(error);
      if (code !== "invalid_params") throw error;
      return { failed: message };
    }
  };
}
