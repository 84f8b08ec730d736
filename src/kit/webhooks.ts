import { callHost } from "./host.ts";

/**
 * The URL of a webhook of this servlet for its caller, for a service that has something to tell this caller: the same
 * at each call, until `revokeWebhook`. Deliveries run `receive` with the rights of the caller, and its accounts. In a
 * run without a caller: the URL of the servlet's own webhook.
 */
export const webhook = async (name: string): Promise<string> =>
  String(await callHost("webhook()", "webhooks.url", { name }));

/** Ends the webhook of the caller: its URL receives nothing more. False if the caller had none. */
export const revokeWebhook = async (name: string): Promise<boolean> =>
  (await callHost("revokeWebhook()", "webhooks.revoke", { name })) === true;
