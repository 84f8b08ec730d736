/** The scripted world of a call in a test, and the outcome of the call. */
import type { Ask, AskFailure } from "../../server/kernel/core/asks.ts";
import type { CallToolResult, Json, Notification } from "../../server/kernel/core/model.ts";
import type { Recorded } from "../../server/kernel/core/record.ts";

/**
 * The client's answer to an ask: its result, or a failure, which the kit turns into an `AskError` with this reason.
 *
 * @example
 * const allowed: ScriptedAnswer = { action: "accept", content: { approve: true } };
 * const unable: ScriptedAnswer = { failed: "cannot-ask" };
 */
export type ScriptedAnswer =
  | Json
  | (Pick<AskFailure, "failed" | "requiredCapabilities"> & { message?: string });

/**
 * A tool of another servlet in a test: its text, its result, a function, or the servlet under test that has the tool.
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

/** The part of a servlet under test that other servlets call. */
interface CallableServlet {
  callTool(name: string, args: Json, script: Script): Promise<Tested<CallToolResult>>;
}

/**
 * The world of a call in a test. A servlet that uses a part without a field here gets an error.
 *
 * @example
 * const script: Script = {
 *   caller: "ada",
 *   now: Date.UTC(2026, 0, 1),
 *   fetch: () => Response.json({ celsius: 22 }),
 * };
 */
export interface Script {
  /** The client's answers to the servlet's requests, by method: a list in order, or a function. */
  answers?: { [M in Ask["method"]]?: ScriptedAnswer[] | ((params: Json) => ScriptedAnswer) };
  /** Replaces the network; allow lists still apply. */
  fetch?: (request: Request) => Response | Promise<Response>;
  /** Tools of other servlets that the servlet calls, by name; `may_call` of its manifest still applies. */
  tools?: Record<string, ScriptedTool>;
  /** Functions of the server's features that the servlet calls, by name; `payload` is what it passes. */
  hostFunctions?: Record<string, (payload: unknown) => unknown>;
  /** Unix time in ms at the start of the call, 0 by default, which only `sleep` advances; or a clock. */
  now?: number | (() => number);
  /** Secrets that the caller has already given to the servlet, by name. Requires `caller`. */
  secrets?: Record<string, string>;
  /** Access tokens of the accounts that the caller has already connected, by account name. Requires `caller`. */
  accounts?: Record<string, string>;
  /** The Worker's variables and secrets. */
  variables?: Record<string, string>;
  /** The request's `_meta`; a progress token by default. */
  meta?: Json;
  /** The client's capabilities. */
  capabilities?: Json;
  /**
   * Ends the run after every answer of the host, or after those with these indexes (from 0), and replays the journal as
   * after a crash. Finds servlets that are not deterministic.
   */
  alwaysReplay?: boolean | readonly number[];
  /** The journal of an earlier call, perhaps of an earlier build. The call must repeat all of its steps. */
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
  /** Lines that the servlet wrote to the server's log. */
  logs: string[];
  /** The journal, for a test that replays it; absent if nothing was recorded. */
  recorded?: Recorded;
}
