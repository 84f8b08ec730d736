/// <reference types="@cloudflare/vitest-plugin/types" />
import { abortAllDurableObjects } from "cloudflare:test";
import { expect, test } from "vitest";
import { newAddress, send, type Sent } from "../../worker/calls/client.ts";

/** Many calls at once of servlets that keep state: each scope has its own, and none is lost. */

const newCaller = (): Sent => ({ headers: { "cf-connecting-ip": newAddress() } });

/** Calls a tool, again and again while there are too many calls; gives its text. */
async function insist(name: string, args: object, sent: Sent): Promise<string> {
  for (;;) {
    const { status, result, error } = await send("tools/call", { name, arguments: args }, sent);
    if (status !== 429)
      return error?.message ?? (result!["content"] as { text: string }[])[0]!.text;
    await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 200));
  }
}

const next = async (sent: Sent) => Number(await insist("counting-next", {}, sent));
const oneTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

test("1,000 concurrent increments of one scope end at 1,000", { timeout: 120_000 }, async () => {
  const caller = newCaller();
  const numbers = await Promise.all(oneTo(1000).map(() => next(caller)));
  expect(numbers.toSorted((a, b) => a - b)).toEqual(oneTo(1000));
  expect(await next(caller)).toBe(1001);
});

test(
  "callers who call at the same time see their own state and files",
  { timeout: 60_000 },
  async () => {
    const own = oneTo(4).map((at) => ({ sent: newCaller(), name: `caller${at}` }));
    const calls = own.flatMap(({ sent, name }) =>
      oneTo(20).map(async (nth) => {
        const line = `${name}.${nth}`;
        const given = { what: "log", path: "/data/log", text: line };
        const [count, lines] = await Promise.all([next(sent), insist("filing-do", given, sent)]);
        return { name, line, count, lines: lines.trim().split(" ") };
      }),
    );
    const done = await Promise.all(calls.toSorted(() => Math.random() - 0.5));
    for (const { name } of own) {
      const ofCaller = done.filter((one) => one.name === name);
      expect(ofCaller.map(({ count }) => count).toSorted((a, b) => a - b)).toEqual(oneTo(20));
      const longest = ofCaller.find(({ lines }) => lines[0] === "20")!.lines.slice(1);
      expect(longest.toSorted()).toEqual(ofCaller.map(({ line }) => line).toSorted());
    }
  },
);

test("state is the same however often it is read again between its changes", async () => {
  const caller = newCaller();
  for (const nth of oneTo(140)) {
    expect(await next(caller)).toBe(nth);
    if (nth % 23 === 0) await abortAllDurableObjects();
  }
});
