/** Settings of events. */
import * as z from "zod/mini";
import { words, type FeatureSettings } from "../../kernel/settings/env.ts";

declare module "../../kernel/settings/env.ts" {
  interface Settings extends Own {}
}

type Own = z.infer<z.ZodMiniObject<typeof shape>>;
const shape = {
  /**
   * Hosts to which [events](events.md#webhooks) may be delivered: globs on the host name, such as `*.example.com
   * hooks.example.org`. All public hosts by default. A private host must be named in full.
   */
  EVENT_HOSTS: words,
};

export const eventsSettings: FeatureSettings = { shape };
