import { notices } from "../wire/notifications.ts";
import { related, TASK_RESULT } from "./tasks.ts";
import { olderNotice } from "./shapes.ts";
import type { Json, Notification } from "../../model.ts";
import type { KeptCall, SessionStore } from "../../durable/session-store.ts";

/**
 * Is it no request, but what the client hears of a task that it has begun? Its progress token is valid
 * until the task is over, whether anybody waits for the result or not.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-progress-notifications
 */
export const isListener = ({ request, method }: KeptCall): boolean =>
  request === null && method === TASK_RESULT;

/** Passes on what a call says and its client wants to hear; the call learns how far that is. */
export function hearing(
  call: KeptCall,
  store: SessionStore,
  send: (message: Json) => void,
): (notice: Notification) => void {
  const wanted = {
    progressToken: call.progressToken,
    progress: call.progress,
    get logLevel() {
      return store.row.level;
    },
    elicitations: true,
  };
  return notices(wanted, (message) => {
    const params = message["params"] as Json;
    const { progress } = params;
    if (typeof progress === "number") call.progress = progress;
    const ofTask = isListener(call) ? { params: related(params, call.task!) } : {};
    send(olderNotice({ ...message, ...ofTask }, store.row.version));
  });
}
