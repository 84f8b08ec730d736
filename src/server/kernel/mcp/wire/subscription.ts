/**
 * Notifications on a stream opened by `subscriptions/listen`.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
import type { Notification, Principal } from "../../core/model.ts";
import type { RequestId } from "./message.ts";
import { Fault } from "../../core/errors.ts";

/** The notifications that a client subscribed to. `taskIds` is part of the tasks extension. */
export interface Filter {
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  resourceSubscriptions?: string[];
  taskIds?: string[];
}

/** A request to the hub for a stream. */
export interface Subscription {
  /** The id of the request that opened it. */
  id: RequestId;
  /** The caller key under which the stream is counted. */
  caller?: string | undefined;
  filter: Filter;
  /** The patterns that its caller's scopes grant; absent if they grant everything. */
  patterns?: readonly string[] | undefined;
  /** The profile of its endpoint; absent at `/mcp`. */
  profile?: string | undefined;
  /** The first message on the stream, and the last if the server ends it, as JSON text. */
  opening: string;
  ending: string;
  /** How long the stream may be open, in milliseconds. */
  lifeMs: number;
}

/** The key in `_meta` of everything on a stream: clients tell streams apart by it. */
export const SUBSCRIPTION_ID_META = "io.modelcontextprotocol/subscriptionId";

/** True if a stream with this filter receives this notification. */
export function matches(filter: Filter, { method, params = {} }: Notification): boolean {
  switch (method) {
    case "notifications/tools/list_changed":
      return filter.toolsListChanged === true;
    case "notifications/prompts/list_changed":
      return filter.promptsListChanged === true;
    case "notifications/resources/list_changed":
      return filter.resourcesListChanged === true;
    case "notifications/resources/updated":
      return includes(filter.resourceSubscriptions, params["uri"]);
    case "notifications/tasks":
      return includes(filter.taskIds, params["taskId"]);
    default:
      return false;
  }
}

const includes = (wanted: string[] | undefined, value: unknown) =>
  typeof value === "string" && wanted !== undefined && wanted.includes(value);

/** A notification for the stream of this request, as JSON text. */
export function tagged({ method, params = {} }: Notification, id: RequestId): string {
  const meta = { _meta: { [SUBSCRIPTION_ID_META]: id } };
  return JSON.stringify({ jsonrpc: "2.0", method, params: { ...params, ...meta } });
}

/**
 * A stream that ends when its caller's credentials expire, are revoked, or grant something else than at its beginning.
 * They are checked before each chunk, keep-alive comments included.
 */
export function whileGranted(
  stream: ReadableStream<Uint8Array>,
  { principal, identify }: { principal: Principal; identify?(): Promise<Principal> },
): ReadableStream<Uint8Array> {
  if (identify === undefined) return stream;
  const granted = JSON.stringify(principal);
  const isGranted = async () => {
    try {
      return JSON.stringify(await identify()) === granted;
    } catch (error) {
      if (error instanceof Fault) return false;
      throw error;
    }
  };
  const reader = stream.getReader();
  const source: UnderlyingSource<Uint8Array> = {
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done && (await isGranted())) return controller.enqueue(value);
      controller.close();
      if (!done) await reader.cancel();
    },
    cancel: (reason) => reader.cancel(reason),
  };
  // No read-ahead: each chunk is sent under the grants of that moment.
  return new ReadableStream(source, { highWaterMark: 0 });
}
