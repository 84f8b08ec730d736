import type { Answer, Asks } from "../core/asks.ts";
import type { WaitReason } from "../core/suspension.ts";

/** The keys of a task's asks. */
export interface AskKeys {
  /** All keys that were used on the wire. */
  used: Record<string, true>;
  /** The servlet's own key for each key on the wire, for open asks. */
  names: Record<string, string>;
  /** How often the task has asked; absent in older tasks. */
  rounds?: number;
}

/** How often the task has asked; each round has any number of asks. */
export const roundsOf = ({ rounds, used }: AskKeys): number => rounds ?? Object.keys(used).length;

/**
 * Renames asks to keys that the task has never used, so that an answer cannot reach another ask. Adds them to
 * `keys`. https://modelcontextprotocol.io/seps/2663-tasks-extension#task-update-requests
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
