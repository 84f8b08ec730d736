import type { Context } from "hono";
import { callerKey } from "./core/callers.ts";
import { Fault } from "./core/errors.ts";
import type { Principal } from "./core/model.ts";
import type { Kernel } from "./kernel.ts";
import { mcpEndpoint } from "./mcp/endpoint.ts";

/** A handler of MCP requests for the whole server or a profile; `identify` authenticates its callers. */
export function mcpHandler(
  kernel: Kernel,
  identify: (raw: Request) => Principal | Promise<Principal>,
  profile?: string,
) {
  const { carried, tasks, methods, sessionRequests: sessions } = kernel;
  const { authenticator, rateLimiter, refusals } = kernel;
  const introduction =
    profile === undefined ? kernel.introduction : kernel.introductions.get(profile)!;
  return async ({ req: { raw } }: Context): Promise<Response> => {
    const identified = identify(raw);
    const principal = identified instanceof Promise ? await identified : identified;
    const registry = (kernel.known ?? (await kernel.registry())).for({ principal });
    const recordRefusal = (fault: Fault) => refusals.add(fault, principal.name);
    const admission = entered(recordRefusal, () =>
      rateLimiter.enterUnwatched(callerKey(principal), raw),
    );
    const { quota } = admission;
    return admission.until(
      mcpEndpoint(raw, {
        ...quota,
        admission,
        challenge(fault) {
          recordRefusal(fault);
          return authenticator.challenge(raw, fault);
        },
        introduction,
        methods,
        registry,
        principal,
        identify: async () => identify(raw),
        hub: kernel.hubOf && (() => kernel.hubOf!(principal)),
        carried,
        tasks: tasks?.(principal, quota.countStored),
        pages: kernel.pagesFor?.(principal, raw),
        prefersLinks: kernel.prefersLinks,
        sessions,
      }),
    );
  };
}

/** Returns the result of `enter`. Records a fault that it throws. */
function entered<T>(record: (fault: Fault) => void, enter: () => T): T {
  try {
    return enter();
  } catch (error) {
    record(Fault.from(error));
    throw error;
  }
}
