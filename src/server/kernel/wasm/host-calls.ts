/** Calls of a guest to host functions of features. */
import type { HostAnswer } from "../core/call-context.ts";
import { Fault } from "../core/errors.ts";
import { beginningOf, stringBytes } from "../core/text.ts";
import { GuestError, type Guest } from "./guest.ts";

/** Fuel for each call, as for a call of a tool, and for each byte of its payload, which is checked. */
const CALL_FUEL = 100_000;
const PAYLOAD_FUEL = 100;

/** True for a function that always answers a payload in the same way: its results are not recorded. */
const isReading = (name: string): boolean => name.endsWith(".read");

/** Calls a host function of a feature, `{name, payload}`, and records its answer, which it returns. */
export async function callFeature(guest: Guest, block: bigint): Promise<bigint> {
  const { name, payload = null } = guest.json(block, "call_host");
  if (typeof name !== "string")
    throw new GuestError("call_host expects the name of a host function, and a payload.");
  const details = JSON.stringify([name, payload]);
  guest.pay(CALL_FUEL + stringBytes(details) * PAYLOAD_FUEL);
  const shown = beginningOf(name, 100);
  const live = async () => {
    const { callHost: call } = guest.setup;
    const answer: HostAnswer =
      call === undefined
        ? { failed: `There is no host function ${shown}: no feature of this server has any.` }
        : await guest.wait((signal) => call({ name, payload }, signal));
    return answer;
  };
  const question = { what: `host ${shown}`, details };
  if (!isReading(name))
    return guest.put(await guest.answer(question, async () => JSON.stringify(await live())));
  let read: HostAnswer | undefined;
  const recorded = await guest.answer(question, async () => {
    read = await live();
    return "failed" in read ? JSON.stringify(read) : "";
  });
  if (recorded !== "") return guest.put(recorded);
  if (read === undefined) {
    read = await live();
    if ("failed" in read)
      throw new Fault(
        "servlet_failed",
        `The call cannot go on: it has read something by ${shown} that cannot be read any more. ${read.failed}`,
      );
  }
  return guest.put(JSON.stringify(read));
}
