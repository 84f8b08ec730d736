/** Settings of tasks. */
import * as z from "zod/mini";
import type { FeatureSettings } from "../../kernel/settings/env.ts";

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
};

export const tasksSettings: FeatureSettings = { shape };
