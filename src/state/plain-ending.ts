import type { Audience, Notification } from "../core/model.ts";
import type { Recorded } from "../core/record.ts";
import { Suspended, type WaitReason } from "../core/suspension.ts";
import type { Ending } from "../wasm/call.ts";

/** A list, or the resource with this URI, has changed. */
export interface ChangeNotification {
  method: string;
  uri?: string;
}

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

/** An ending as a value that passes between objects. */
export type PlainEnding =
  | (Exclude<Ending, { kind: "suspended" }> & {
      /** Lists and resources that the call has changed; clients are notified once it is committed. */
      changes?: ChangeNotification[];
    })
  | { kind: "suspended"; reason: WaitReason; fuelUsed: number; recorded?: Recorded };

/** `changes` are those of a call that was committed. */
export function plainEnding(
  ending: Ending,
  changes: readonly ChangeNotification[] = [],
): PlainEnding {
  if (ending.kind !== "suspended") {
    return changes.length === 0 ? ending : { ...ending, changes: [...changes] };
  }
  const { reason, fuelUsed, recorded } = ending.suspended;
  return { kind: "suspended", reason, fuelUsed, ...(recorded && { recorded }) };
}

export function endingOf(plain: PlainEnding): Ending {
  if (plain.kind !== "suspended") {
    const { changes: _, ...ending } = plain;
    return ending;
  }
  const { reason, fuelUsed, recorded } = plain;
  return { kind: "suspended", suspended: new Suspended(reason, fuelUsed, { recorded }) };
}

/** The lists and resources that a call with this ending has changed. */
export const changesIn = (ending: PlainEnding): readonly ChangeNotification[] =>
  ending.kind === "suspended" ? [] : (ending.changes ?? []);
