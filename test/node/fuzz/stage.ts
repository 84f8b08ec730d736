import { changedTree } from "./change.ts";
import type { Chance } from "./chance.ts";
import { markOf, PRINCIPALS, type Draft, type Json, type Name } from "./draft.ts";
import type { Got } from "./judge.ts";
import { oddValue } from "./odd.ts";
import { fitting, said, type Catalog } from "./requests.ts";

export interface Sending {
  /** How many things are changed in it; by chance where it is left out. */
  changes?: number;
  patienceMs?: number;
  onMessage?: (message: Json) => Promise<void>;
  leaveMs?: number | undefined;
}

/** Where a scene is played. */
export interface Stage {
  chance: Chance;
  catalog: Catalog;
  /** Sends a request, and judges what comes; undefined where the client has left before. */
  send(draft: Draft, sending?: Sending): Promise<Got | undefined>;
  /** Fails the scene. */
  fail(why: string): never;
}

export const otherThan = (as: Name, chance: Chance): Name =>
  chance.pick(PRINCIPALS.filter((name) => name !== as));

/** A client's answer, usually a correct one. */
export function answerTo(request: Json, as: Name, chance: Chance): unknown {
  const schema: unknown = request["params"]?.["requestedSchema"];
  const answers: Record<string, unknown> = {
    "elicitation/create": chance.of(0.8)
      ? { action: "accept", content: fitting(schema, as, chance) }
      : { action: chance.pick(["decline", "cancel"]) },
    "sampling/createMessage": { role: "assistant", content: said(as), model: "m" },
    "roots/list": { roots: [{ uri: "file:///home/ada", name: markOf(as) }] },
  };
  const answer = answers[String(request["method"])] ?? {};
  return chance.of(0.75) ? answer : chance.of(0.5) ? changedTree(answer, chance) : oddValue(chance);
}
