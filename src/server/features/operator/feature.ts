import { callerKey } from "../../kernel/core/callers.ts";
import { Fault } from "../../kernel/core/errors.ts";
import {
  callerKeyOf,
  jsonAnswer,
  type Operating,
  type Operations,
} from "../../kernel/http/operations.ts";
import type { Feature, Kernel } from "../../kernel/kernel.ts";
import { lackingIn } from "../../kernel/settings/lacking.ts";
import { operatorEndpoint, operatorRefusal } from "./endpoint.ts";

/** The endpoint of operators' commands: `/operator/OPERATION/NAME`. */
export const operatorFeature: Feature = {
  name: "operator",
  start: (kernel) => ({
    refusal: { paths: /^\/operator\//, answer: operatorRefusal },
    routes(app) {
      const { authenticator, rateLimiter } = kernel;
      const operations = operationsOf(kernel);
      app.all("/operator/*", async ({ req: { raw } }) => {
        const principal = await authenticator.operator(raw);
        const admission = rateLimiter.enter(callerKey(principal), raw);
        const recordAct = (what: string) => kernel.recordAct(principal.name, "command", what);
        return admission.until(
          operatorEndpoint(raw, operations, { ...admission.quota, principal, recordAct }),
        );
      });
    },
  }),
};

/**
 * The operations of all features. `GET setup` returns the public URL and the missing bindings;
 * `DELETE state?caller=NAME` deletes what all features store for a caller.
 */
function operationsOf(kernel: Kernel): Operations {
  const all = Object.assign({}, ...kernel.started.map((one) => one.operations)) as Operations;
  const { state = {} } = all;
  const { env, settings } = kernel;
  return {
    ...all,
    setup: {
      GET: async () => jsonAnswer({ publicUrl: settings.PUBLIC_URL, lacking: lackingIn(env) }),
    },
    state: {
      ...state,
      DELETE(request, name, by) {
        const caller = new URL(request.url).searchParams.get("caller");
        if (caller !== null) return deleteCaller(kernel, caller, { ...by, name });
        if (state["DELETE"] !== undefined) return state["DELETE"](request, name, by);
        throw new Fault(
          "invalid_request",
          "This server keeps no state of servlets: name a caller, or bind SERVLET_STATES in wrangler.toml.",
        );
      },
    },
  };
}

async function deleteCaller(
  kernel: Kernel,
  caller: string,
  { name, recordAct }: Operating & { name: string },
): Promise<Response> {
  if (name !== "")
    throw new Fault(
      "invalid_request",
      `\`caller\` deletes what all servlets keep, so it goes without the name of one. For ${name} alone, use the scope caller:${caller}.`,
    );
  const servlets = await kernel.forgetCaller(callerKeyOf(caller));
  await recordAct(`Deleted what all servlets keep for ${caller}.`);
  return jsonAnswer({ servlets });
}
