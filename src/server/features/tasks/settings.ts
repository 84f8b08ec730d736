/** Settings of tasks. */
import * as z from "zod/mini";
import { words, type FeatureSettings } from "../../kernel/settings/env.ts";

declare module "../../kernel/settings/env.ts" {
  interface Settings extends Own {}
}

type Own = z.infer<z.ZodMiniObject<typeof shape>>;
const shape = {
  /**
   * `off`: calls of clients that cannot ask their user fail. Otherwise the user answers on a [page](waiting-calls.md#the-client-cannot-ask)
   * of this server, `/ask/…`, which needs the Durable Object `TASKS`.
   */
  LINKS: z._default(z.enum(["on", "off"]), "on"),
  /**
   * Names of clients, separated by spaces, with `*` for any text, that get [a link](waiting-calls.md#the-client-cannot-ask) although
   * they declare that they can ask: those that decline what nobody has seen.
   */
  LINK_CLIENTS: words,
};

export const tasksSettings: FeatureSettings = { shape };
