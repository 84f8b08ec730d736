// @module-tag state
import { expect, test } from "vitest";
import { begin, goOn, newAddress, send, type Sent } from "../../worker/calls/client.ts";

/** Servlets that keep state, and wait for their user. */

const text = async (name: string, sent: Sent = {}): Promise<string> => {
  const { result, error } = await send("tools/call", { name: `counting-${name}` }, sent);
  return error?.message ?? (result!["content"] as { text: string }[])[0]!.text;
};
/** A new caller: anonymous, from an address of its own. */
const newCaller = (): Sent => ({
  headers: { "cf-connecting-ip": newAddress() },
});

test("a call that waits does not hold the state, and goes on with it as it then is", async () => {
  const caller = newCaller();
  expect(await text("next", caller)).toBe("1");
  const round = await begin("tools/call", { name: "counting-note" }, caller);
  const [key] = Object.keys(round.requests);
  const answer = { [key!]: { action: "accept", content: { text: "one" } } };
  const { result } = await goOn(round, answer);
  expect(result).toMatchObject({ content: [{ text: "one" }] });

  const late = await begin("tools/call", { name: "counting-note" }, caller);
  expect(await text("next", caller)).toBe("2");
  const { error } = await goOn(late, answer);
  expect(error!.message).toMatch(/state of this servlet has changed.*Call again/);
  expect(await text("next", caller)).toBe("3");
});
