import { afterEach } from "vitest";
import { instead } from "./session-faults.ts";

/**
 * Returns a function that has a method of an object do what it does, and its reply be lost so many times, until the test
 * ends; it gives the ids of the objects. `fetch` is put back, too.
 */
export function losableReplies() {
  const { fetch } = globalThis;
  const undo: (() => void)[] = [];
  afterEach(() => {
    globalThis.fetch = fetch;
    for (const one of undo.splice(0)) one();
  });
  return function loseReplies(of: object, method: string, times = Infinity): Set<string> {
    const ids = new Set<string>();
    let lost = 0;
    const work: Parameters<typeof instead>[2] = async ({ plain, args, state }) => {
      const reply = await plain(...args);
      ids.add(state.id.toString());
      if (++lost <= times) throw new Error("the connection is cut");
      return reply;
    };
    undo.push(instead(of, method, work));
    return ids;
  };
}
