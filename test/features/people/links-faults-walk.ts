import { expect, test } from "vitest";
import { serverOf } from "../../worker/auth/key-holders.ts";
import { as, callOf, limited, TASKS, type Json } from "../../worker/calls/client.ts";
import { newWorld, pause } from "../../worker/calls/faults.ts";
import { callThrough } from "../../worker/calls/patient-calls.ts";
import { ELICIT, http, saidIn } from "../../worker/calls/plans.ts";
import { SessionClient } from "../../worker/mcp/legacy/session-client.ts";
import {
  during,
  SessionFaults,
  VICTIMS,
  type Victim,
} from "../../worker/mcp/legacy/session-faults.ts";
import { browser } from "../../worker/pages/browser.ts";

/** Tests of calls that are handed over to a person, and whose objects die wherever something is awaited. */

const server = await serverOf({ ada: {} }, {});
const PLAIN = { server, capabilities: {}, ...as("ada") };
const WITH_TASKS = { ...PLAIN, capabilities: TASKS };

let plans = 0;
/** A plan that asks for a secret under a name of its own: it is kept for all later calls. */
const newPlan = () => ({
  steps: [
    http("PUT", "/a"),
    ELICIT,
    { do: "ask_secret", name: `key ${++plans}` },
    http("PUT", "/b"),
    { ...ELICIT, message: "And?" },
  ],
});

/** Gives the link of a call: how each kind of client gets it. */
type Begin = (client: SessionClient, plan: Json) => Promise<{ id: string; url: string }>;

const linkIn = ({ structuredContent, content }: Json) =>
  structuredContent ?? JSON.parse(content.at(-1).text);

const CLIENTS: [name: string, begin: Begin][] = [
  [
    "without a session",
    async (_client, plan) => {
      for (;;) {
        const { result } = await callOf("plan", plan, PLAIN);
        if (result) return linkIn(result);
      }
    },
  ],
  [
    "with a session",
    async (client, plan) => linkIn((await callThrough(client, ["plan", plan])).answer["result"]),
  ],
  [
    "of tasks",
    async (_client, plan) => {
      const { result } = await callOf("plan_always", plan, WITH_TASKS);
      const { taskId } = result!;
      return { id: taskId, url: `/ask/${taskId}` };
    },
  ],
];

interface Trial {
  said: unknown;
  lines: string[];
  faults: SessionFaults;
}

async function tried(
  begin: Begin,
  options: { fatal?: number; victim?: Victim } = {},
): Promise<Trial> {
  limited({ resultWaitMs: 0, nextAskMs: 0, keptSecrets: Infinity });
  const world = newWorld();
  const client = await SessionClient.begin({ ...PLAIN, ticket: false });
  const faults = new SessionFaults(client.object, options);
  faults.isOn = true;
  const link = await during(faults, begin(client, newPlan()));
  const said = await during(faults, through(link));
  faults.isOn = false;
  const own = [...new Map(world.seen.map(({ key, line }) => [key, line])).values()];
  return { said, lines: own, faults };
}

/** Answers all that is asked at the page, as a person does who opens it again where it fails; gives the result. */
async function through({ id, url }: { id: string; url: string }): Promise<unknown> {
  const person = browser(server);
  for (let times = 0; times < 50; times++) {
    const { hidden, text, response } = await person.fetch(url);
    if (text.includes("Sign in to edge-servlets")) await person.send(url, { credential: "ada" });
    const secretPage = response.headers.get("location");
    if (secretPage !== null) {
      const { hidden: own } = await person.fetch(secretPage);
      await person.send(secretPage, { ...own, secret: "of ada", decision: "accept" });
    } else if (hidden["ask"] !== undefined) {
      const value = text.includes("The question And?") ? "Grace" : "Ada";
      await person.send(url, { ...hidden, f0: value, decision: "accept" });
    }
    const said = saidIn(await callOf("get_result", { id }, PLAIN));
    if (said !== undefined) return said;
    // Alarms of dead runs go off where nothing else happens.
    for (let idle = 0; idle < 40; idle++) await pause();
  }
  throw new Error("the call does not end");
}

/** An object dies at each of so many places of a call, of which each kind of client takes others. */
export function testLinkDeaths(every: number): void {
  test.each(CLIENTS.map(([name, begin], nth) => [name, begin, nth] as const))(
    "a client %s",
    async (_name, begin, nth) => {
      const undisturbed = await tried(begin);
      expect(undisturbed.said).toEqual([
        expect.anything(),
        "Ada",
        "of ada",
        expect.anything(),
        "Grace",
      ]);
      expect(undisturbed.lines).toEqual(["PUT /a", "PUT /b"]);
      const { passed } = undisturbed.faults;
      let [trials, deaths] = [0, 0];
      for (let fatal = nth % every; fatal < passed.length; fatal += every) {
        const victim = VICTIMS[trials++ % 3]!;
        const trial = await tried(begin, { fatal, victim });
        const where = `${passed[fatal]}, place ${fatal}, ${victim}`;
        expect({ where, said: trial.said }).toEqual({ where, said: undisturbed.said });
        // A call that its client has made again may have sent the first request before.
        expect(trial.lines.filter((line) => line === "PUT /b")).toEqual(["PUT /b"]);
        if (trial.faults.died !== undefined) deaths++;
      }
      expect(deaths).toBeGreaterThan(trials * 0.5);
    },
    600_000,
  );
}
