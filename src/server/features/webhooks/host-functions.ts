/** What servlets may do with the webhooks of their callers. */
import * as z from "zod/mini";
import { callerKey } from "../../kernel/core/callers.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { ANONYMOUS, isServletPrincipal } from "../../kernel/core/model.ts";
import { once } from "../../kernel/core/once.ts";
import { unsettled } from "../../kernel/core/settled.ts";
import { beginningOf, printable } from "../../kernel/core/text.ts";
import type { Kernel, Started } from "../../kernel/kernel.ts";
import type { FeatureFunction } from "../../kernel/servlets/deployment.ts";
import type { HookRef } from "./delivery.ts";
import type { HookObjects } from "./hook-objects.ts";

const payloadSchema = once(() => z.strictObject({ name: z.string() }));

type Of = Parameters<FeatureFunction>[1];

/** The functions. `originHere` returns an address at which the server was reached, for calls without a link. */
export function webhookFunctions(
  { settings, countStored }: Pick<Kernel, "settings" | "countStored">,
  hooks: HookObjects,
  originHere: () => string | undefined,
): NonNullable<Started["hostFunctions"]> {
  return {
    /** The URL of a webhook of the caller, or of the servlet where it runs without a caller. */
    "webhooks.url": async (payload, of) => {
      const ref = refIn(payload, of);
      const { principal, link } = of.call;
      const origin = settings.PUBLIC_URL ?? link?.origin ?? originHere();
      if (origin === undefined)
        throw bad("the server does not know its own address: its operator sets it as PUBLIC_URL");
      const url = hookUrl(origin, ref);
      if (isServletPrincipal(principal.name)) return url;
      const caller = callerOf(of);
      await countStored(caller);
      const token = await hooks.newToken(caller, ref);
      const { name, scopes, profile } = principal;
      const own = {
        name,
        ...(scopes && { scopes }),
        ...(profile !== undefined && { profile }),
      };
      const issue = { ...ref, token, principal: own, origin: link?.origin };
      const issued = await hooks.ofCaller(caller, async (object) => object.issue(issue));
      return `${url}/${unsettled(issued)}`;
    },
    /** Ends the webhook of the caller; false if there was none. */
    "webhooks.revoke": async (payload, of) => {
      const ref = refIn(payload, of);
      if (isServletPrincipal(of.call.principal.name))
        throw bad(
          "the webhook of the servlet itself cannot be revoked: leave it out of the servlet",
        );
      return hooks.ofCaller(callerOf(of), async (object) => object.revoke(ref));
    },
  };
}

/** The URL of a servlet's webhook. */
export const hookUrl = (origin: string, { servlet, hook }: HookRef): string =>
  new URL(`/hooks/${encodeURIComponent(servlet)}/${encodeURIComponent(hook)}`, origin).href;

/** The webhook that a payload names. Throws `invalid_params`. */
function refIn(payload: unknown, { servlet: { name: servlet, manifest } }: Of): HookRef {
  const read = payloadSchema().safeParse(payload);
  const hook = read.success ? read.data.name : "";
  const { webhooks = {} } = manifest;
  if (Object.hasOwn(webhooks, hook)) return { servlet, hook };
  const known = Object.keys(webhooks).join(", ") || "none";
  throw bad(`the servlet has no webhook ${printable(beginningOf(hook, 100))}. It has: ${known}`);
}

/** The key of the caller. Throws `invalid_params` if the server does not know who is calling. */
function callerOf({ call: { principal } }: Of): string {
  const key = callerKey(principal);
  if (principal.name !== ANONYMOUS.name && key !== undefined) return key;
  throw bad(
    "this server does not know who is calling, so its callers have no webhooks of their own. Its owner gives it keys or a sign-in (docs/access.md)",
  );
}

const bad = (message: string): Fault => new Fault("invalid_params", message);
