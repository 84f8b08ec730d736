import { notices } from "../mcp/notices.ts";
import { olderNotice } from "../mcp/older.ts";
import type { Json, Notification } from "../model.ts";
import type { KeptCall, SessionStore } from "./session-store.ts";

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
    const { progress } = message["params"] as Json;
    if (typeof progress === "number") call.progress = progress;
    send(olderNotice(message, store.row.version));
  });
}
