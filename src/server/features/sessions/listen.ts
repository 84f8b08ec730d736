import type { Hub } from "./hub.ts";
import * as z from "zod/mini";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import type { ClientDescription } from "../../kernel/core/call-context.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import { isObject, type Json, type Principal } from "../../kernel/core/model.ts";
import type { Exchange, Method } from "../../kernel/mcp/method.ts";
import { resultMessage } from "../../kernel/mcp/wire/message.ts";
import { capabilities } from "../../kernel/mcp/wire/capabilities.ts";
import { streamResponse } from "../../kernel/http/body.ts";
import { demandStream } from "../../kernel/mcp/wire/reply.ts";
import { demandTasks } from "../../kernel/mcp/modern/tasks.ts";
import {
  SUBSCRIPTION_ID_META,
  tagged,
  type Filter,
  whileGranted,
} from "../../kernel/mcp/wire/subscription.ts";
import { hears } from "../../kernel/servlets/hearing.ts";

/**
 * Answers `subscriptions/listen` with a stream of the caller's hub, which begins with the accepted filter.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
export const listenAt =
  (hubOf: (principal: Principal) => DurableObjectStub<Hub>): NonNullable<Method["stream"]> =>
  async ({ id, params }, exchange, client) => {
    demandStream(exchange.accepts);
    const filter = await agreed(filterOf(params, client), exchange, client);
    const acknowledged = "notifications/subscriptions/acknowledged";
    const meta = {
      [SUBSCRIPTION_ID_META]: id,
      "io.modelcontextprotocol/serverInfo": exchange.introduction.info,
    };
    const stream = await hubOf(exchange.principal).listen({
      id,
      caller: callerKey(exchange.principal),
      filter,
      patterns: exchange.registry.access.patterns,
      profile: exchange.principal.profile,
      opening: tagged({ method: acknowledged, params: { notifications: filter } }, id),
      ending: resultMessage(id, JSON.stringify({ resultType: "complete", _meta: meta })),
      lifeMs: limits.listenMs,
    });
    if (stream === null) {
      throw new Fault(
        "too_many",
        `Too many open subscription streams (limit ${limits.listenStreams} for one caller, ${limits.hubStreams} for all anonymous callers), or filters are too long (limit ${limits.listenFilterBytes} bytes for one caller). Close a stream, or subscribe to less, and retry in 1 second.`,
        { data: { retryAfter: 1 } },
      );
    }
    return streamResponse(whileGranted(stream, exchange));
  };

const flag = z.nullish(z.boolean("must be a boolean."));
const NOT_STRINGS = "must be an array of strings.";
const strings = z.pipe(
  z.nullish(z.array(z.string(NOT_STRINGS), NOT_STRINGS)),
  z.transform((items) => (items?.length ? [...new Set(items)] : undefined)),
);
const filterSchema = z.object({
  toolsListChanged: flag,
  promptsListChanged: flag,
  resourcesListChanged: flag,
  resourceSubscriptions: strings,
  taskIds: strings,
});
type ListenFilter = z.infer<typeof filterSchema>;

/** The filter in the request's params. Throws `invalid_params`, `missing_capability`. */
function filterOf(params: Json, client: ClientDescription): ListenFilter {
  const asked = params["notifications"];
  if (!isObject(asked))
    throw new Fault(
      "invalid_params",
      'params.notifications must be an object, such as {"toolsListChanged": true}.',
    );
  if (JSON.stringify(asked).length > limits.listenFilterCharacters) {
    throw new Fault(
      "invalid_params",
      `params.notifications is too long (limit ${limits.listenFilterCharacters} characters as JSON). Subscribe to fewer resources.`,
    );
  }
  const { data: filter, error } = z.safeParse(filterSchema, asked);
  if (error !== undefined) {
    const [{ path, message }] = error.issues as [z.core.$ZodIssue];
    throw new Fault("invalid_params", `params.notifications.${String(path[0])} ${message}`);
  }
  if ((filter.taskIds?.length ?? 0) > limits.listenTasks) {
    throw new Fault(
      "invalid_params",
      `Too many items in params.notifications.taskIds (limit ${limits.listenTasks}). Use several streams.`,
    );
  }
  if (filter.taskIds !== undefined) demandTasks(client);
  return filter;
}

/** The accepted part of a filter: own tasks, lists declared as capabilities, resources that scopes grant. */
async function agreed(
  filter: ListenFilter,
  { registry, tasks }: Exchange,
  client: ClientDescription,
): Promise<Filter> {
  const { prompts, resources } = await capabilities(registry, client.capabilities, {
    listens: true,
  });
  const { toolsListChanged, promptsListChanged, resourcesListChanged } = filter;
  const { resourceSubscriptions: uris = [], taskIds = [] } = filter;
  const heard: string[] = [];
  for (const uri of uris) if (await hears(uri, registry)) heard.push(uri);
  const owned = await Promise.all(taskIds.map(async (id) => (await tasks?.get(id)) !== undefined));
  const own = taskIds.filter((_id, at) => owned[at]);
  return {
    ...(toolsListChanged && { toolsListChanged }),
    ...(prompts !== undefined && promptsListChanged && { promptsListChanged }),
    ...(resources !== undefined && resourcesListChanged && { resourcesListChanged }),
    ...(resources !== undefined && heard.length > 0 && { resourceSubscriptions: heard }),
    ...(own.length > 0 && { taskIds: own }),
  };
}
