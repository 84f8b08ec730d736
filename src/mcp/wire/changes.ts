import { waitUntil } from "cloudflare:workers";
import { report } from "../../errors.ts";
import type { Notification } from "../../model.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Takes what a call says of changes to the hub of its principal, and all else to `rest`. The call does
 * not wait for that; what it says in one go is told once.
 */
export function changes(
  { hub }: Pick<Exchange, "hub">,
  rest: (notice: Notification) => void,
): (notice: Notification) => void {
  if (hub === undefined) return rest;
  const untold = new Map<string, Notification>();
  let telling = false;
  const tell = async () => {
    telling = true;
    try {
      await Promise.resolve();
      while (untold.size > 0) {
        const batch = [...untold.values()];
        untold.clear();
        await hub().publish(batch);
      }
    } catch (error) {
      report(error);
    } finally {
      telling = false;
    }
  };
  return (notice) => {
    const change = changeOf(notice);
    if (change === undefined) return rest(notice);
    untold.set(JSON.stringify(change), change);
    if (!telling) waitUntil(tell());
  };
}

function changeOf({ method, params = {} }: Notification): Notification | undefined {
  switch (method) {
    case "notifications/tools/list_changed":
    case "notifications/prompts/list_changed":
    case "notifications/resources/list_changed":
      return { method };
    case "notifications/resources/updated":
      return typeof params["uri"] === "string"
        ? { method, params: { uri: params["uri"] } }
        : undefined;
    default:
      return undefined;
  }
}
