/** Changes made by a call of a servlet with state. Clients are notified once the call is committed. */
import type { Audience, Notification } from "../../kernel/core/model.ts";
import type { Ending } from "../../kernel/wasm/call.ts";

/** A notification that a list, or the resource with this URI, has changed. */
export interface ChangeNotification {
  method: string;
  uri?: string;
}

/** The ending of a call, with the lists and resources that it has changed if it was committed. */
export type CommittedEnding = Ending & { changes?: readonly ChangeNotification[] };

export const withChanges = (
  ending: Ending,
  changes: readonly ChangeNotification[],
): CommittedEnding => (changes.length === 0 ? ending : { ...ending, changes: [...changes] });

export const changeOf = ({ method, params }: Notification): ChangeNotification => ({
  method,
  ...(typeof params?.["uri"] === "string" && { uri: params["uri"] }),
});

export const noticeOf = (
  { method, uri }: ChangeNotification,
  audience: Audience,
): Notification => ({
  method,
  ...(uri !== undefined && { params: { uri } }),
  audience,
});
