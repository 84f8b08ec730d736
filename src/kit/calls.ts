/** Calls of tools of other servlets. */
import { hostFor, running } from "./host.ts";
import type { InputOf, OutputOf } from "./infer.ts";
import type { ContentBlock } from "./types.ts";

/**
 * The result of another servlet's tool. `isError` is true if the tool reports an error; otherwise `structuredContent` has the
 * shape of the tool's output schema, if any.
 *
 * @example
 * const result: ToolCallResult<{ celsius: number }> = {
 *   content: [{ type: "text", text: "22" }],
 *   structuredContent: { celsius: 22 },
 * };
 * result.structuredContent?.celsius; // → 22
 */
export interface ToolCallResult<T = Record<string, unknown>> {
  content: ContentBlock[];
  structuredContent?: T;
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

/**
 * Thrown if a tool of another servlet was not called, or did not return a valid result. If the calling tool does not catch it,
 * its result is an error with this message.
 *
 * @example
 * try {
 *   await context.callTool("forecast", { city: "Bern" });
 * } catch (error) {
 *   if (!(error instanceof ToolCallError)) throw error;
 *   return `There is no forecast: ${error.reason}.`;
 * }
 */
export class ToolCallError extends Error {
  override name = "ToolCallError";
  declare readonly tool: string;
  /**
   * `not-allowed`: `may_call` in servlet.json does not list the tool. `declined`: the user has not allowed the call
   * (`confirm_calls`). `insufficient-scope`: the caller may not call the tool. `state-in-use`: the call is made from within a
   * call of the same servlet, which keeps state. `too-deep`, `too-many`: servlets call each other without end, or nearly.
   * `failed`: the tool's servlet returned a protocol error or an invalid result.
   */
  declare readonly reason:
    | ("unknown-tool" | "not-allowed" | "declined" | "insufficient-scope" | "bad-arguments")
    | ("state-in-use" | "too-deep" | "too-many" | "failed");
}

type ToolAnswer =
  | { result: ToolCallResult<never> }
  | { failed: ToolCallError["reason"]; message: string };

/** A call that is sent, with all other waiting calls, once the servlet has nothing else to do. */
interface Waiting {
  json: string;
  /** Its stack leads to the caller's line. */
  failed: ToolCallError;
  resolve(result: ToolCallResult<never>): void;
  reject(error: ToolCallError): void;
}

let waiting: Waiting[] = [];

export function makeCall<T>(tool: string, args: object = {}): Promise<ToolCallResult<T>> {
  hostFor("callTool()");
  running.hasWaited = true;
  const failed = Object.assign(new ToolCallError(), { tool });
  return new Promise((resolve, reject) => {
    const json = JSON.stringify({ name: tool, arguments: args });
    waiting.push({ json, failed, resolve, reject });
  });
}

/** Makes the waiting calls; false if there are none. */
export function makeCalls(): boolean {
  if (waiting.length === 0) return false;
  const made = waiting;
  waiting = [];
  const host = hostFor("callTool()");
  if (made.length === 1) {
    settle(made[0]!, JSON.parse(host.call("call_tool", made[0]!.json)) as ToolAnswer);
    return true;
  }
  const asked = made.map(({ json }, nth) => `"${nth}":${json}`).join();
  const answers = JSON.parse(host.call("call_tool", `{${asked}}`)) as Record<string, ToolAnswer>;
  for (const [nth, one] of made.entries()) settle(one, answers[nth]!);
  return true;
}

function settle({ resolve, reject, failed }: Waiting, answer: ToolAnswer): void {
  if ("result" in answer) return resolve(answer.result);
  const { failed: reason, message } = answer;
  const value = (one: string) => ({ value: one, writable: true, configurable: true });
  reject(Object.defineProperties(failed, { reason: value(reason), message: value(message) }));
}

/** Drops the waiting calls; returns their number. */
export function dropCalls(): number {
  const { length } = waiting;
  waiting = [];
  return length;
}

type Member<T, K> = K extends keyof T ? T[K] : unknown;

type ToolFunction<I, O> = (
  args: unknown extends I ? Record<string, unknown> : InputOf<I>,
) => Promise<ToolCallResult<unknown extends O ? Record<string, unknown> : OutputOf<O>>>;

type Prefixed<P extends string, K> = K extends string ? (P extends "" ? K : `${P}-${K}`) : never;

/**
 * The type of a servlet's tools as functions, for `context.tools`; `P` is the `prefix` in its servlet.json, if any.
 *
 * @example
 * type Weather = TypedServlet<{ forecast: { type: "object" } }, {}>;
 * const { forecast } = context.tools as CallableTools<Weather>;
 */
export type CallableTools<S, P extends string = ""> = S extends {
  readonly "~schemas"?: { inputs: infer I; outputs: infer O };
}
  ? { [K in keyof I | keyof O as Prefixed<P, K>]: ToolFunction<Member<I, K>, Member<O, K>> }
  : never;

/** A function for any name: whether the tool exists is known when it is called. */
export const tools = new Proxy<
  Readonly<Record<string, (args?: object) => Promise<ToolCallResult>>>
>(
  {},
  {
    get: (_, name) =>
      typeof name === "string" ? (args?: object) => makeCall(name, args) : undefined,
  },
);
