import { notices } from "../wire/notifications.ts";
import { related, TASK_RESULT } from "./tasks.ts";
import { olderNotice } from "./shapes.ts";
import type { Json, Notification } from "../../core/model.ts";
import type { SessionStore } from "./session-store.ts";
import type { StoredCall } from "./session-rows.ts";

/**
 * True for the entry of a task that the client has created, which is not a request. Its progress token is valid
 * until the task ends, whether or not a request waits for the result.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-progress-notifications
 */
export const isListener = ({ request, method }: StoredCall): boolean =>
  request === null && method === TASK_RESULT;

/** Sends those notifications of a call that its client wants, and records the progress. */
export function hearing(
  call: StoredCall,
  store: SessionStore,
  send: (message: Json) => void,
): (notice: Notification) => void {
  const wanted = {
    progressToken: call.progressToken,
    progress: call.progress,
    get logLevel() {
      return store.row.level;
    },
    takePage: (id: string) => store.takePage(id),
  };
  return notices(wanted, (message) => {
    const params = message["params"] as Json;
    const { progress } = params;
    if (typeof progress === "number") call.progress = progress;
    const ofTask = isListener(call) ? { params: related(params, call.task!) } : {};
    send(olderNotice({ ...message, ...ofTask }, store.row.version));
  });
}
