import { waitUntil } from "cloudflare:workers";
import { callerKey, usageKey } from "../core/callers.ts";
import { report } from "../core/errors.ts";
import { ANONYMOUS, type Notification, type Principal } from "../core/model.ts";
import { copiesOf, copyFor } from "../storage/copies.ts";

/** The name of the hub of a principal's clients. Anonymous callers share some hubs, by their networks. */
export function hubNameOf(principal: Principal, env: object): string {
  const caller = callerKey(principal);
  if (caller === undefined || caller === principal.name) return principal.name;
  return copyFor(ANONYMOUS.name, usageKey(caller), env);
}

/** A principal's hub. */
export interface Publisher {
  publish(changes: Notification[]): Promise<void>;
}

/**
 * Publishes a call's change notifications on the hub of its principal, and passes other notifications to `rest`. The
 * call does not wait; equal changes in one turn are published once.
 */
export function changes(
  { hub }: { hub?: (() => Publisher) | undefined },
  rest: (notice: Notification) => void,
): (notice: Notification) => void {
  if (hub === undefined) return rest;
  const pending = new Map<string, Notification>();
  let isPublishing = false;
  const publish = async () => {
    isPublishing = true;
    try {
      await Promise.resolve();
      while (pending.size > 0) {
        const batch = [...pending.values()];
        pending.clear();
        await hub().publish(batch);
      }
    } catch (error) {
      report(error);
    } finally {
      isPublishing = false;
    }
  };
  return (notice) => {
    const change = changeOf(notice);
    if (change === undefined) return rest(notice);
    pending.set(JSON.stringify(change), change);
    if (!isPublishing) waitUntil(publish());
  };
}

function changeOf({
  method,
  params = {},
  audience,
  servlet,
}: Notification): Notification | undefined {
  const to = audience && { audience };
  switch (method) {
    case "notifications/tools/list_changed":
    case "notifications/prompts/list_changed":
    case "notifications/resources/list_changed":
      return { method, ...to };
    case "notifications/resources/updated":
      return typeof params["uri"] === "string"
        ? {
            method,
            params: { uri: params["uri"] },
            ...to,
            ...(servlet !== undefined && { servlet }),
          }
        : undefined;
    default:
      return undefined;
  }
}

/** The text of a progress notification, for a task's `statusMessage`; undefined for any other. */
export function progressTextOf({ method, params = {} }: Notification): string | undefined {
  if (method !== "notifications/progress") return undefined;
  const { message, progress, total } = params;
  if (typeof message === "string") return message;
  return [progress, total].filter((one) => typeof one === "number").join(" of ");
}

/**
 * The name of the hub of all hubs, and the prefix of its copies' names; each copy has some of the hubs. Principals are
 * named by keys, without spaces, or begin with a URL or `jwt:`.
 */
export const ALL_HUBS = "all hubs";

/** The binding of hubs. */
interface HubsEnv {
  HUBS?: { getByName(name: string): Publisher };
}

/** Publishes changes to the clients of all hubs. */
export async function publishToAll(env: HubsEnv, notices: Notification[]): Promise<void> {
  const publish = async (name: string) => env.HUBS?.getByName(name).publish(notices);
  await Promise.all(copiesOf(ALL_HUBS, env).map(publish));
}
