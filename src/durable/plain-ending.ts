import type { Recorded } from "../record.ts";
import { Suspended, type WaitReason } from "../suspension.ts";
import type { Ending } from "../wasm/call.ts";

/** An ending as a value that passes between objects. */
export type PlainEnding =
  | Exclude<Ending, { kind: "suspended" }>
  | { kind: "suspended"; reason: WaitReason; fuelUsed: number; recorded?: Recorded };

export function plainEnding(ending: Ending): PlainEnding {
  if (ending.kind !== "suspended") return ending;
  const { reason, fuelUsed, recorded } = ending.suspended;
  return { kind: "suspended", reason, fuelUsed, ...(recorded && { recorded }) };
}

export function endingOf(plain: PlainEnding): Ending {
  if (plain.kind !== "suspended") return plain;
  const { reason, fuelUsed, recorded } = plain;
  return { kind: "suspended", suspended: new Suspended(reason, fuelUsed, recorded) };
}
