import { describe, expect, test } from "vitest";
import type { Json } from "../../worker/calls/client.ts";
import { newWorld, type Server } from "../../worker/calls/faults.ts";
import { ELICIT, http, NIGHT, TOLD } from "../../worker/calls/plans.ts";
import { SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import {
  callThrough,
  WITH_PROGRESS,
  type Between,
  type Called,
} from "../../worker/calls/patient-calls.ts";
import {
  during,
  SessionFaults,
  VICTIMS,
  type Victim,
} from "../../worker/mcp/legacy/session-faults.ts";

/** Tests of sessions and their tasks that die wherever something is awaited. */

export const SAMPLE = { do: "sample", message: "Say it" };

type Call = Parameters<typeof callThrough>[1];

export const plan = (...steps: Json[]): Call => ["plan", { steps }, WITH_PROGRESS];

export const CALLS: [name: string, call: Call][] = [
  ["an elicitation", plan(ELICIT)],
  ["sampling and roots", plan(SAMPLE, { do: "roots" })],
  ["several at once", plan({ do: "inputs", keys: ["a", "b"] })],
  ["a night", plan(NIGHT, http("GET", "/b"))],
  [
    "several in turn",
    plan(...TOLD, http("PUT", "/a"), ELICIT, ...TOLD, http("GET", "/b"), SAMPLE, ...TOLD),
  ],
  ["input_required", ["rounds", { rounds: 2 }]],
];

export interface Trial {
  called: Called;
  faults: SessionFaults;
  world: Server;
}

export async function tried(
  call: Call,
  options: { fatal?: number; victim?: Victim } = {},
  between?: (client: SessionClient, faults: SessionFaults) => Between,
): Promise<Trial> {
  const world = newWorld();
  const client = await SessionClient.begin({ ticket: false });
  const faults = new SessionFaults(client.object, options);
  faults.isOn = true;
  const called = await during(faults, callThrough(client, call, between?.(client, faults)));
  faults.isOn = false;
  return { called, faults, world };
}

/** The part of an outcome that no fault may change. */
export function essence({ called: { answer, events, answeredAgain } }: Trial) {
  const { id: _id, result, ...rest } = answer;
  const messages = events.map(({ message }) => message!);
  return {
    ...rest,
    said: result?.structuredContent?.said ?? result?.content,
    stream: messages
      .filter(({ method, params }) => {
        const isWithdrawn = method === "notifications/cancelled";
        return !isWithdrawn || !answeredAgain.includes(params.requestId);
      })
      .map(({ method = "the answer", params }) => ({ method, params })),
  };
}

/** Each event has come once, and in its order; what was done in the world was done once. */
export function expectOnce({ called, world }: Trial, undisturbed: Trial): void {
  const places = called.events.map(({ id }) => id!.split("-").slice(1).map(Number));
  for (const [at, [stream, seq]] of places.entries()) {
    if (at === 0) continue;
    expect(stream).toBe(places[0]![0]);
    expect(seq).toBeGreaterThan(places[at - 1]![1]!);
  }
  const { ids } = called.answer["result"].structuredContent ?? { ids: [] };
  const own = world.seen.filter(({ id }) => ids.includes(id));
  const lines = undisturbed.world.seen.map(({ line }) => line);
  expect([...new Map(own.map(({ id, line }) => [id, line])).values()]).toEqual(lines);
  // One that was on its way when the object died may have been sent again, and no other.
  const repeated = own.filter(({ id }, at) => id === own[at - 1]?.id);
  expect(own.length - lines.length).toBe(repeated.length);
  expect(repeated.length).toBeLessThanOrEqual(1);
  // A call that was lost may have done what it has done.
  const others = world.seen.length - own.length;
  expect(others).toBeLessThanOrEqual((called.times - 1) * lines.length);
}

/** An object dies at each of so many places of a call, of which each call takes others: it, its other, or all in turn. */
export function testSessionDeaths(every: number): void {
  describe("an object that dies where something is awaited", () => {
    test.each(CALLS.map((one, nth) => [...one, nth] as const))(
      "%s",
      async (_name, call, nth) => {
        const undisturbed = await tried(call);
        expect(undisturbed.called.times).toBe(1);
        const { passed, tasks } = undisturbed.faults;
        expect(tasks).toHaveLength(1);
        let [trials, deaths] = [0, 0];
        for (let fatal = nth % every; fatal < passed.length; fatal += every) {
          const victim = VICTIMS[trials++ % 3]!;
          const where = `${passed[fatal]}, place ${fatal}, ${victim}`;
          const trial = await tried(call, { fatal, victim });
          expect({ where, ...essence(trial) }).toEqual({ where, ...essence(undisturbed) });
          expectOnce(trial, undisturbed);
          if (trial.faults.died !== undefined) deaths++;
        }
        expect(deaths).toBeGreaterThan(trials * 0.8);
      },
      600_000,
    );
  });
}
