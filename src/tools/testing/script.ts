/** The world that a test gives to a servlet, and the outcome of a call. */
import type { Ask, AskFailure } from "../../server/kernel/core/asks.ts";
import type { CallToolResult, Json, Notification } from "../../server/kernel/core/model.ts";
import type { Recorded } from "../../server/kernel/core/record.ts";

/**
 * The client's answer to an ask: its result; or a failure, which a servlet of the kit gets as an `AskError` with this reason.
 *
 * @example
 * const allowed: ScriptedAnswer = { action: "accept", content: { approve: true } };
 * const unable: ScriptedAnswer = { failed: "cannot-ask" };
 */
export type ScriptedAnswer =
  | Json
  | (Pick<AskFailure, "failed" | "requiredCapabilities"> & { message?: string });

/**
 * A tool of another servlet in a test: its text, its result, or the servlet under test that has it.
 *
 * @example
 * const weather: ScriptedTool = (args) => ({ structuredContent: { celsius: args["city"] === "Bern" ? 22 : 5 } });
 */
export type ScriptedTool =
  | string
  | ScriptedResult
  | ((args: Json) => string | ScriptedResult)
  | CallableServlet;

type ScriptedResult = Pick<Partial<CallToolResult>, "content" | "structuredContent" | "isError">;

/** A servlet under test, as far as others call it. */
interface CallableServlet {
  callTool(name: string, args: Json, script: Script): Promise<Tested<CallToolResult>>;
}

/**
 * The world of a call in a test. Anything left out fails when the servlet uses it.
 *
 * @example
 * const script: Script = {
 *   caller: "ada",
 *   now: Date.UTC(2026, 0, 1),
 *   fetch: () => Response.json({ celsius: 22 }),
 * };
 */
export interface Script {
  /** Answers to what the servlet asks of the client, by method: in their order, or by a function. */
  answers?: { [M in Ask["method"]]?: ScriptedAnswer[] | ((params: Json) => ScriptedAnswer) };
  /** Stands for the network; allow lists are applied all the same. */
  fetch?: (request: Request) => Response | Promise<Response>;
  /** The tools of other servlets that it calls, by name; `may_call` of its manifest is applied all the same. */
  tools?: Record<string, ScriptedTool>;
  /** Unix time in ms when the call begins; it goes on only when the servlet sleeps. 0 by default. Or a clock. */
  now?: number | (() => number);
  /** The secrets that its caller has given it before, by name; the caller must be known (`caller`). */
  secrets?: Record<string, string>;
  /** The accounts that its caller has connected before: access tokens by the account's name; the caller must be known. */
  accounts?: Record<string, string>;
  /** The Worker's variables and secrets. */
  variables?: Record<string, string>;
  /** The request's `_meta`; a progress token by default. */
  meta?: Json;
  /** The client's capabilities. */
  capabilities?: Json;
  /**
   * Ends the run after every answer of the host and begins it again from what is recorded, as a crash
   * would: a servlet that does not do the same each time shows itself. Or after the answers with these
   * numbers only, from 0.
   */
  alwaysReplay?: boolean | readonly number[];
  /** The record of an earlier call, perhaps of an earlier build: this one must do the same up to its end. */
  recorded?: Recorded;
  /** Name of the caller; anonymous by default. A servlet may keep state for each caller. */
  caller?: string;
  /** Id of the session; without sessions by default. A servlet may keep state for each session. */
  session?: string;
}

/**
 * The outcome of a call.
 *
 * @example
 * const hello = await loadServlet("plugins/hello");
 * const { result, logs }: Tested<{ isError?: boolean }> = await hello.callTool("greet", { name: "Ada" });
 * result.isError ?? false; // → false
 * logs; // → []
 */
export interface Tested<T> {
  result: T;
  /** Notifications sent to the client, in order. */
  notifications: Notification[];
  /** Requests made to the client, in order. */
  asked: Ask[];
  /** Lines that it wrote to the server's log. */
  logs: string[];
  /** The journal, for a test that replays it; absent if nothing was recorded. */
  recorded?: Recorded;
}
