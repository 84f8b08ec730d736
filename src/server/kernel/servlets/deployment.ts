import type { Recorded } from "../core/record.ts";
import type { CountedRun } from "../observe/counted.ts";
import type { CallContext } from "../core/call-context.ts";
import type { Json, Principal, Tool } from "../core/model.ts";
import type { Outcome } from "../core/suspension.ts";
import type { CallRef } from "../calls/call-ref.ts";
import type { Ending, LogLevel } from "../wasm/call.ts";
import type { World } from "../wasm/world.ts";
import type { PreparedServlet, StoredPart } from "./bundle.ts";
import type { Contributor } from "./catalog.ts";
import type { Profiles } from "./profiles.ts";
import type { Scopes } from "./scopes.ts";
import type { CollectedLists, Servlet } from "./servlet.ts";

/** Format and destination of the run log. */
interface Recording {
  format: "json" | "text";
  /** Of the runs that do not fail, from 0 to 1. */
  share: number;
  print(line: string): void;
}

/** The caller in whose state a servlet is asked for its lists. */
export interface Viewer {
  principal: Principal;
  /** Absent for clients without sessions. */
  session?: string | undefined;
}

/** Secrets of callers, each for one servlet, and the pages on which callers enter them. */
export interface Secrets {
  /** One that was kept after `after` (Unix ms); waits at most `ms` for it. */
  find(
    principal: string,
    of: { servlet: string; name: string },
    wait: { after: number; ms: number },
  ): Promise<string | undefined>;
  /** The address of the page that takes it from this principal. */
  page(
    origin: string,
    asked: { principal: string; servlet: string; name: string; message: string },
  ): Promise<string>;
}

/** An account of a caller, and what one servlet may do with it: with these scopes, at these hosts (globs). */
export interface AccountGrant {
  servlet: string;
  /** The provider's name in ACCOUNTS. */
  account: string;
  scopes: readonly string[];
  hosts: readonly string[];
}

/** An account for a person: connected, refused since the servlet asked, or neither. */
export type AccountState = "connected" | "declined" | "missing";

/** Accounts of callers at other servers, and the pages on which callers connect them. */
export interface Accounts {
  /** True for the name of a provider. */
  knows(account: string): boolean;
  /** How it is; waits at most `ms` for it to be connected, or refused after `since` (Unix ms). */
  state(
    principal: string,
    grant: AccountGrant,
    wait: { since: number; ms: number },
  ): Promise<AccountState>;
  /** The address of the page on which this principal connects it. */
  connectPage(origin: string, principal: string, grant: AccountGrant): Promise<string>;
  /**
   * Its access token, which is renewed if it is the refused one; undefined if it is not connected any more, or for less
   * than this grant.
   */
  token(principal: string, grant: AccountGrant, refused?: string): Promise<string | undefined>;
}

/** An entry as those see it who find it by `FindTool`. */
export interface FoundEntry {
  ref: CallRef;
  /** For the log: its name, or the part of its URI that the caller did not choose. */
  subject?: string;
  /** Absent where several may know the resource. */
  servlet?: PreparedServlet | undefined;
  tool?: { own: string; tool?: Tool };
  /** Says why the arguments of a tool do not fit: then its run gives that as an error. */
  misfit?: string;
  /** Runs it. The result has the newest shape. */
  run(call: CallContext): Promise<Outcome<Json>>;
}

/**
 * Finds the tool that a reference names for this caller, whose lists are asked for once; with the record of a
 * call, in the build that it began with. Throws `invalid_params`, `insufficient_scope`.
 */
export type FindTool = (
  viewer: Viewer,
) => (ref: CallRef, recorded?: Recorded) => Promise<FoundEntry>;

/** Makes the calls of tools that the guest of one call makes. */
export interface ToolCaller {
  /** The parts of the call's context for that. */
  parts: Pick<CallContext, "callTools" | "chain">;
  /** Adds the calls that have not ended to the record of the run. */
  ended(ending: Ending): void;
  /** Stops the calls of a run that has failed without an ending: another run of the same call may follow. */
  failed(): void;
}

/** Runs some servlets elsewhere than in this isolate. */
export interface ServletRunner {
  takes(servlet: PreparedServlet): boolean;
  /** True if it runs them in their state. */
  readonly hasState?: boolean;
  /** Runs an export; `by` has its log and network. */
  run(
    servlet: PreparedServlet,
    run: { export: string; input: string },
    call: CallContext,
    by: Deployment,
  ): Promise<Ending>;
  /** The lists of such a servlet in the state of a caller; absent where they are the same for all. */
  lists?(servlet: PreparedServlet, viewer: Viewer): Promise<CollectedLists>;
}

/** Configuration that all servlets share. */
export interface Deployment {
  /** The Worker's variables and secrets, by name. */
  variables: Readonly<Record<string, string>>;
  logLevel: LogLevel;
  log(servlet: string, level: LogLevel, text: string): void;
  /** Where and how runs are logged; where it is absent, only those that fail are, as text. */
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
  /** Where servlets run that do not run here: the first that takes one runs it. */
  runners?: readonly ServletRunner[];
  /** Without it, servlets call no tools of others. */
  toolCaller?(of: {
    servlet: PreparedServlet;
    call: CallContext;
    find: FindTool;
    own: Deployment["own"];
  }): ToolCaller;
  /** The secrets of callers; absent where none are kept. */
  secrets?: Secrets | undefined;
  /** The accounts of callers; absent where the server has no providers. */
  accounts?: Accounts | undefined;
  /** The server's own servlets, each by its prepared form. */
  own?: ReadonlyMap<PreparedServlet, Servlet>;
  /** A build that is not served, by its hash; undefined if it is not kept. */
  oldBuild?(hash: string): Promise<PreparedServlet | undefined>;
  /** Absent where there is no bucket of builds. */
  storedPart?: StoredPart;
  /** What features add to the catalog. */
  contributors?: readonly Contributor[];
  /** Clock, randomness and network; the real ones by default. */
  world?: World;
}
