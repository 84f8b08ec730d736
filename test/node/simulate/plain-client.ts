import { newAttempt, eventsIn, type Attempt, type ClientWorld, type Json } from "./attempt.ts";
import { limits } from "../../../src/server/features/otc/limits.ts";
import type { Step } from "./programs.ts";

/** Makes a call in one request, and cannot be asked: MCP without a session, or Open Tool Calling with a `call_id`. */
export class PlainClient {
  readonly #world: ClientWorld;
  readonly #isOtc: boolean;
  readonly attempts: Attempt[] = [];

  constructor(world: ClientWorld, isOtc: boolean) {
    this.#world = world;
    this.#isOtc = isOtc;
  }

  async call(label: string, tool: string, program: Step[]): Promise<void> {
    for (let times = 1; ; times++) {
      const name = `${label}${times === 1 ? "" : `'${times}`}`;
      const attempt = newAttempt(name, tool, program, this.#world);
      this.attempts.push(attempt);
      const end = this.#isOtc ? await this.#callOnce(attempt) : await this.#send(attempt);
      if (end !== undefined) {
        attempt.end = end;
        return;
      }
      // Nobody can tell whether it has begun: it is called anew.
      attempt.isOrphan = true;
      await this.#world.sleep(500 * times);
    }
  }

  /** Sends the same until there is a response, and once more; undefined where the call may be forgotten by then. */
  async #callOnce(attempt: Attempt): Promise<Json | undefined> {
    const until = this.#world.now() + limits.callRecordMs / 2;
    let end: Json | undefined;
    for (let times = 1; this.#world.now() < until; times++) {
      const answer = await this.#send(attempt);
      if (end !== undefined && answer !== undefined) {
        if (JSON.stringify(answer) !== JSON.stringify(end)) {
          attempt.problems.push(`the end has changed to ${JSON.stringify(answer)}`);
        }
        return end;
      }
      end ??= answer;
      await this.#world.sleep(500 * times);
    }
    return end;
  }

  /** Undefined where the request or its response was lost. */
  async #send(attempt: Attempt): Promise<Json | undefined> {
    const { chance } = this.#world;
    const { label, tool, steps } = attempt;
    const called = { name: tool, arguments: { steps }, _meta: { progressToken: label } };
    const body = this.#isOtc
      ? { request: { call_id: label, tool_id: `durable.${tool}`, input: { steps } } }
      : { jsonrpc: "2.0", id: label, method: "tools/call", params: called };
    const init = {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(!this.#isOtc && { "mcp-protocol-version": "2025-11-25" }),
      },
      body: JSON.stringify(body),
    };
    this.#world.note(`calls ${tool} as ${label}`);
    try {
      const leavesMs = chance.of(0.1) ? chance.below(3000) : undefined;
      const path = this.#isOtc ? "/tools/call" : "/mcp";
      const response = await this.#world.request(init, leavesMs, path);
      const text = await response.text();
      this.#world.note(`${response.status} ${text.slice(0, 200)}`);
      if (response.status >= 500) {
        attempt.refusal = text;
        return undefined;
      }
      if (this.#isOtc) return endIn(response.status, JSON.parse(text) as Json);
      const isStream = response.headers.get("content-type") === "text/event-stream";
      const messages = isStream ? eventsIn(text) : [JSON.parse(text) as Json];
      const isProgress = ({ method }: Json) => method === "notifications/progress";
      const end = messages.find(({ id }) => id === label);
      const heard = messages.filter(isProgress).map(({ params }) => params.message as string);
      attempt.heard.push({ messages: heard, isWhole: end?.["result"] !== undefined });
      return end;
    } catch (error) {
      this.#world.note(`got no response: ${String(error)}`);
      return undefined;
    }
  }
}

/** The end of a call as MCP would say it. */
function endIn(status: number, { result, message }: Json): Json {
  if (result === undefined) return { status, error: { message } };
  const { success, value, error } = result;
  if (success === true) return { status, result: { structuredContent: value } };
  if (error.message.startsWith("The server stopped")) return { status, error };
  return { status, result: { isError: true, content: [{ type: "text", text: error.message }] } };
}
