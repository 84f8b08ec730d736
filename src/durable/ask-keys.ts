import type { Answer, Asks } from "../asks.ts";
import type { WaitReason } from "../suspension.ts";

/** The keys under which a task has asked. */
export interface AskKeys {
  /** All that were on the wire. */
  used: Record<string, true>;
  /** What the keys on the wire stand for, in the asks that are open. */
  names: Record<string, string>;
  /** How often it has asked; absent where that was not counted yet. */
  rounds?: number;
}

/** How often the task has asked, for one thing or several, or for nothing. */
export const roundsOf = ({ rounds, used }: AskKeys): number => rounds ?? Object.keys(used).length;

/**
 * Asks under keys that the task has never used, so that an answer is always to what was meant. `keys`
 * learns of them. https://modelcontextprotocol.io/seps/2663-tasks-extension#task-update-requests
 */
export function freshKeys(reason: WaitReason & { kind: "input" }, keys: AskKeys): WaitReason {
  const asks: Record<string, Asks[string]> = {};
  const given: Record<string, Answer> = {};
  keys.rounds = roundsOf(keys) + 1;
  keys.names = {};
  for (const [key, ask] of Object.entries(reason.asks)) {
    let name = key;
    for (let times = 2; keys.used[name] !== undefined; times++) name = `${key}-${times}`;
    keys.used[name] = true;
    keys.names[name] = key;
    asks[name] = ask;
    if (Object.hasOwn(reason.given, key)) given[name] = reason.given[key]!;
  }
  return { kind: "input", asks, given };
}
