import { expect, test } from "vitest";
import { Journal } from "../../../src/server/kernel/wasm/journal.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";

const QUESTION = { what: "sleep", details: "10" };
const began = Date.now();

/** The times that a guest sees which is given these entries' answers, in ms since its call began. */
function timesOf(ats: number[]): number[] {
  const world = { ...liveWorld, now: () => began };
  const first = new Journal({ hash: "", input: "" }, world, undefined);
  for (const _ of ats) {
    first.take(QUESTION);
    first.add("done");
  }
  const recorded = first.recorded();
  const entries = recorded.entries.map((entry, at) => ({ ...entry, at: began + ats[at]! }));
  const journal = new Journal({ ...recorded, entries }, world, undefined);
  return ats.map(() => {
    journal.take(QUESTION);
    return journal.now - began;
  });
}

test.each([
  ["the times are those of the answers", [0, 10, 10, 5000], [0, 10, 10, 5000]],
  ["time does not go back where a record is older, and as much passes", [80, 20, 30], [80, 80, 90]],
])("%s", (_, ats, expected) => {
  expect(timesOf(ats)).toEqual(expected);
});

test("a run that is interrupted before it announces its request again keeps the announcement of the previous run", async () => {
  const sent: string[] = [];
  const keeper = {
    begin: async () => {},
    keep: async () => {},
    intend: async (_position: number, key: string) => sent.push(key) > 1,
  };
  const post = { what: "http POST pay.example", details: "{}" };
  const first = new Journal({ hash: "", input: "" }, liveWorld, keeper);
  first.take(QUESTION);
  first.add("done");
  first.take(post);
  await first.intend("once");
  const interrupted = first.recorded();
  // The next run has no room to wait for the answer, and so does not get as far as to announce it again.
  const second = new Journal(interrupted, liveWorld, keeper);
  second.take(QUESTION);
  second.take(post);
  expect(second.recorded().intents).toEqual([{ position: 1, key: sent[0] }]);
  // Once it is answered, nothing is open.
  second.add("unknown");
  expect(second.recorded().intents).toBeUndefined();
});
