import type { Recorded } from "../core/record.ts";
import type { CountedRun } from "../observe/counted.ts";
import type { CallContext } from "../core/call-context.ts";
import type { CallToolResult, Json, Principal, Tool } from "../core/model.ts";
import type { Outcome } from "../core/suspension.ts";
import type { CallRef } from "../calls/call-ref.ts";
import type { Ending, LogLevel } from "../wasm/call.ts";
import type { World } from "../wasm/world.ts";
import type { PreparedServlet, StoredPart } from "./bundle.ts";
import type { Contributor, ToolEntry } from "./catalog.ts";
import type { Profiles } from "./profiles.ts";
import type { Scopes } from "./scopes.ts";
import type { CollectedLists, Servlet } from "./servlet.ts";

/** Format and destination of the run log. */
interface Recording {
  format: "json" | "text";
  /** The share of successful runs that are logged, from 0 to 1. */
  share: number;
  print(line: string): void;
}

/** The caller whose state a servlet's lists depend on. */
export interface Viewer {
  principal: Principal;
  /** Absent for clients without sessions. */
  session?: string | undefined;
}

/** Secrets of callers, each for one servlet, and the pages on which callers enter them. */
export interface Secrets {
  /** A secret stored after `after` (Unix ms); waits at most `ms` for it. */
  find(
    principal: string,
    of: { servlet: string; name: string },
    wait: { after: number; ms: number },
  ): Promise<string | undefined>;
  /** The URL of the page on which this principal enters it. */
  page(
    origin: string,
    asked: { principal: string; servlet: string; name: string; message: string },
  ): Promise<string>;
}

/** A caller's account, and what one servlet may do with it: with these scopes, at these hosts (globs). */
export interface AccountGrant {
  servlet: string;
  /** The provider's name in ACCOUNTS. */
  account: string;
  scopes: readonly string[];
  hosts: readonly string[];
  /** The provider, if ACCOUNTS lacks the name: an authorization server at which this server makes itself a client. */
  issuer?: string;
  /** The URL of the server that the token is for. */
  resource?: string;
}

/** The state of a person's account: connected, refused since the servlet asked, or neither. */
export type AccountState = "connected" | "declined" | "missing";

/** Callers' accounts at other servers, and the pages on which callers connect them. */
export interface Accounts {
  /** True if there is a provider for this account. */
  knows(grant: AccountGrant): boolean;
  /** Its state; waits at most `ms` for it to be connected, or refused after `since` (Unix ms). */
  state(
    principal: string,
    grant: AccountGrant,
    wait: { since: number; ms: number },
  ): Promise<AccountState>;
  /** The URL of the page on which this principal connects it; with `isMore`, with the scopes that it has already, too. */
  connectPage(
    origin: string,
    principal: string,
    grant: AccountGrant,
    isMore: boolean,
  ): Promise<string>;
  /**
   * Its access token, renewed if it is the refused one; undefined if the account is no longer connected, or grants less
   * than requested.
   */
  token(principal: string, grant: AccountGrant, refused?: string): Promise<string | undefined>;
}

/** An entry as `FindTool` returns it. */
export interface FoundEntry {
  ref: CallRef;
  /** For the log: its name, or the part of its URI that the caller did not choose. */
  subject?: string;
  /** Absent if several servlets may know the resource. */
  servlet?: PreparedServlet | undefined;
  tool?: { own: string; tool?: Tool };
  /** Why the arguments do not match the tool's schema; running it then returns this as an error. */
  misfit?: string;
  /** Runs it. The result has the newest MCP form. */
  run(call: CallContext): Promise<Outcome<Json>>;
}

/**
 * Finds the tool that a reference names for this caller, reading the caller's lists once; with the record of a call, in
 * the build that the call began with. Throws `invalid_params`, `insufficient_scope`.
 */
export type FindTool = (
  viewer: Viewer,
) => (ref: CallRef, recorded?: Recorded) => Promise<FoundEntry>;

/** Makes the tool calls of one call's guest. */
export interface ToolCaller {
  /** Its parts of the call's context. */
  parts: Pick<CallContext, "callTools" | "chain">;
  /** Adds the calls that have not ended to the record of the run. */
  ended(ending: Ending): void;
  /** Stops the calls of a run that has failed without an ending: another run of the same call may follow. */
  failed(): void;
}

/**
 * A function that a feature offers to guests. It gets the JSON that a guest passes, which may be hostile, and returns
 * JSON. It may be called again if the server stops before the answer is recorded. Throws `invalid_params` with a message
 * for the guest, which may continue; any other error ends the call. The result of a function whose name ends in `.read`
 * is not recorded, as it may be large: a run that is repeated calls it again, and it must give the same result, or fail: then
 * the call ends.
 */
export type FeatureFunction = (
  payload: unknown,
  of: { servlet: PreparedServlet; call: CallContext; signal: AbortSignal },
) => Promise<unknown>;

/** Runs some servlets outside this isolate. */
export interface ServletRunner {
  takes(servlet: PreparedServlet): boolean;
  /** True if it runs them with their state. */
  readonly hasState?: boolean;
  /** Runs an export; `by` has its log and network. */
  run(
    servlet: PreparedServlet,
    run: { export: string; input: string },
    call: CallContext,
    by: Deployment,
  ): Promise<Ending>;
  /** The lists of such a servlet in the state of a caller; absent if they are the same for all. */
  lists?(servlet: PreparedServlet, viewer: Viewer): Promise<CollectedLists>;
}

/** Configuration that all servlets share. */
export interface Deployment {
  /** The Worker's variables and secrets, by name. */
  variables: Readonly<Record<string, string>>;
  logLevel: LogLevel;
  log(servlet: string, level: LogLevel, text: string): void;
  /** Format and destination of the run log; if absent, only failed runs are logged, as text. */
  record?: Recording | undefined;
  /** Counts each run that has ended; absent if they are not counted. */
  count?: ((run: CountedRun) => void) | undefined;
  /**
   * `fresh` makes a new instance for each call, whatever the manifests say; `checked` compares each restored
   * instance with a new one.
   */
  isolation?: "restored" | "fresh" | "checked";
  /** Patterns of the configured scopes. */
  scopes?: Scopes;
  profiles?: Profiles | undefined;
  /** Runners of servlets that do not run here: the first that accepts a servlet runs it. */
  runners?: readonly ServletRunner[];
  /** If absent, servlets cannot call tools of other servlets. */
  toolCaller?(of: {
    servlet: PreparedServlet;
    call: CallContext;
    find: FindTool;
    own: Deployment["own"];
  }): ToolCaller;
  /** Replaces a result that is larger than its servlet's manifest allows; absent if none is. */
  fitResult?(
    result: CallToolResult,
    of: { tool: ToolEntry; call: CallContext },
  ): CallToolResult | Promise<CallToolResult>;
  /** The host functions of features, by name. */
  hostFunctions?: ReadonlyMap<string, FeatureFunction>;
  /** The secrets of callers; absent if none are stored. */
  secrets?: Secrets | undefined;
  /** The accounts of callers; absent if the server has no providers. */
  accounts?: Accounts | undefined;
  /** The server's own servlets, by their prepared form. */
  own?: ReadonlyMap<PreparedServlet, Servlet>;
  /** A build that is no longer served, by its hash; undefined if it is not stored. */
  oldBuild?(hash: string): Promise<PreparedServlet | undefined>;
  /** Absent without a bucket of builds. */
  storedPart?: StoredPart;
  /** What features add to the catalog. */
  contributors?: readonly Contributor[];
  /** Clock, randomness and network; by default the real ones. */
  world?: World;
}
