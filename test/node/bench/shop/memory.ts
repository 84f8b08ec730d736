/** Stands in for Redis where none is installed: the commands that the shop uses, in memory. */
import type { Command, Commands, Reply } from "./tools.ts";

const lists = new Map<string, string[]>();
const counters = new Map<string, number>();
const scores = new Map<string, number>();
/** Members with the highest scores, the highest first. Scores only grow. */
let top: string[] = [];
const SHOWN = 10;

function score(member: string, value: number): Reply {
  scores.set(member, value);
  const isHigher = top.length < SHOWN || value >= scores.get(top.at(-1)!)!;
  if (isHigher || top.includes(member)) {
    top = [...new Set([...top, member])]
      .toSorted((a, b) => scores.get(b)! - scores.get(a)!)
      .slice(0, SHOWN);
  }
  return String(value);
}

const COMMANDS: Record<string, (key: string, ...given: string[]) => Reply> = {
  HSET: (key, ...fields) => lists.set(key, fields) && fields.length / 2,
  HGETALL: (key) => lists.get(key) ?? [],
  LRANGE: (key, from, to) => (lists.get(key) ?? []).slice(Number(from), Number(to) + 1),
  RPUSH: (key, entry) => {
    if (!lists.has(key)) lists.set(key, []);
    return lists.get(key)!.push(entry!);
  },
  INCR: (key) => {
    counters.set(key, (counters.get(key) ?? 0) + 1);
    return counters.get(key)!;
  },
  ZADD: (_key, value, member) => score(member!, Number(value)),
  ZINCRBY: (_key, value, member) => score(member!, (scores.get(member!) ?? 0) + Number(value)),
  ZREVRANGE: () => top,
};

export const inMemory: Commands = async (commands: readonly Command[]) =>
  commands.map(([name, key, ...given]) => COMMANDS[name!]!(String(key), ...given.map(String)));
