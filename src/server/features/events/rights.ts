/** Whether a subscriber may still receive an event. */
import { Fault } from "../../kernel/core/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { argumentIssues, currentType, mayHear } from "./event-types.ts";
import type { SubscriptionSpec } from "./subscription-store.ts";
import { eventFault, noEvent } from "./wire.ts";

/**
 * Throws the extension's fault that ends a subscription: `notFound` if its servlet or event is gone, `unsupported` if the
 * event no longer takes its arguments, `forbidden` if its owner may not call this server or subscribe to the event any
 * more. Throws `unavailable` while that cannot be told.
 */
export async function demandRights(
  { authenticator, registry }: Pick<Kernel, "authenticator"> & { registry: Kernel["registry"] },
  {
    principal,
    servlet,
    own,
    name,
    arguments: given,
  }: Pick<SubscriptionSpec, "principal" | "servlet" | "own" | "name" | "arguments">,
): Promise<void> {
  const whole = await registry();
  const type = currentType({ servlet, own }, whole);
  if (type === undefined) throw noEvent(name);
  if (argumentIssues(type, given) !== undefined)
    throw eventFault(
      "unsupported",
      `The event ${name} no longer takes these arguments. List the events, and subscribe again.`,
      { reason: "schema_changed" },
    );
  const now = await authenticator.current(principal).catch((error: unknown) => {
    const { code } = Fault.from(error);
    if (code === "unavailable" || code === "internal") throw error;
    throw lost(name);
  });
  if (!mayHear(whole.within(now).access, type)) throw lost(name);
}

const lost = (name: string): Fault =>
  eventFault("forbidden", `You may no longer subscribe to the event ${name} here.`, {
    reason: "access_lost",
  });
