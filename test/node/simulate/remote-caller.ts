import type { Json } from "./attempt.ts";
import { Caller, type CallerWorld } from "./caller.ts";
import type { RemoteServers } from "./remote-servers.ts";
import type { Against } from "./rules.ts";
import type { Call } from "./scene.ts";

/** A call of a remote server, as its client has seen it. */
export interface RemoteCall {
  /** The number in its arguments. */
  number: string;
  /** By question, what the client has answered. */
  answers: Map<string, Json>;
  /** The result's text, or that of the error; undefined where nobody has heard how it ended. */
  text?: string;
  isError: boolean;
  /** How long it took, in ms; 0 if it has not ended. */
  ms: number;
}

/** A client that calls tools of remote servers, and answers what they ask. */
export class RemoteCaller {
  readonly world: CallerWorld;
  readonly #call: Call & { label: string };
  readonly #calls: RemoteCall[];
  readonly #own: Caller;

  constructor(world: CallerWorld, call: Call & { label: string }, calls: RemoteCall[]) {
    this.world = world;
    this.#call = call;
    this.#calls = calls;
    this.#own = new Caller(world, call.caller ?? 0);
  }

  async run(): Promise<void> {
    for (const [at, { do: what, keys = [], ms = 0 }] of this.#call.program.entries())
      if (what === "sleep") await this.world.sleep(ms);
      else await this.#callOf(`${keys[0]}_${what}`, `${this.#call.label}.${at}`);
  }

  async #callOf(tool: string, number: string): Promise<void> {
    const { chance } = this.world;
    const began = this.world.now();
    const one: RemoteCall = { number, answers: new Map(), isError: true, ms: 0 };
    this.#calls.push(one);
    const message = await this.#own.call(
      `${this.#call.tool}-${tool}`,
      { number },
      {
        hasTasks: chance.of(0.5),
        answer: (_, { params }) => {
          const question = String(params["message"]).replace(/^From [^:]*: /, "");
          const isAccepted = chance.of(0.8);
          const given = isAccepted
            ? { action: "accept", content: { value: `typed: ${question}` } }
            : { action: "decline" };
          const answer = one.answers.get(question) ?? given;
          one.answers.set(question, answer);
          return answer;
        },
      },
    );
    one.ms = this.world.now() - began;
    const { result, error } = message ?? {};
    const text = result?.content?.[0]?.text ?? error?.message;
    if (text !== undefined) one.text = String(text);
    one.isError = result === undefined || result.isError === true;
  }
}

/** Judges what clients and servers have seen of calls that were passed on. */
export function judgeRemote(
  calls: readonly RemoteCall[],
  effects: RemoteServers["effects"],
  { against, isFaultless, mostMs }: { against: Against; isFaultless: boolean; mostMs: number },
): void {
  for (const { number, answers, text, isError, ms } of calls) {
    const own = effects.filter((one) => one.number === number);
    const [effect] = own;
    if (own.length > 1) against("effect once", `${number} has ${own.length} effects`);
    if (ms > mostMs) against("on time", `${number} took ${ms} ms`);
    for (const [nth, answer] of (effect?.answers ?? []).entries()) {
      const [said, given] = [answer, answers.get(`${number}?${nth}`)].map((one) =>
        JSON.stringify(one),
      );
      if (said !== given) against("answers fit", `${number}?${nth}: ${said}, not ${given}`);
    }
    if (text === undefined) continue;
    if (!isError && text !== effect?.text)
      against("ends as it should", `${number} ends with ${text}, not with ${effect?.text}`);
    if (isError && effect !== undefined && !/unknown/i.test(text))
      against("unknown is said", `${number} ends with ${text}, and has an effect`);
    if (isError && isFaultless) against("no failure of ours", `${number}: ${text}`);
  }
}
