import type { Hub } from "../hub.ts";
import type { SessionDirectory } from "../legacy/session-object.ts";
import type { StateVault } from "../../calls/state-vault.ts";
import type { Tasks } from "../../calls/tasks.ts";
import type { CallerQuota, Json, Principal } from "../../core/model.ts";
import type { Registry } from "../../servlets/registry.ts";
import type { Accepts } from "./reply.ts";

/** How the server introduces itself. */
export interface Introduction {
  /** https://modelcontextprotocol.io/specification/2026-07-28/schema#implementation */
  info: Json;
  instructions?: string;
}

/** One POST, with the dependencies for answering it. */
export interface Exchange extends Pick<CallerQuota, "countStored"> {
  introduction: Introduction;
  registry: Registry;
  principal: Principal;
  /** Identifies the caller again. Throws where its credentials are no longer valid. */
  identify?(): Promise<Principal>;
  headers: Headers;
  /** The value of the `MCP-Protocol-Version` header. */
  versionHeader: string | undefined;
  accepts: Accepts;
  /** The principal's hub; absent if clients cannot subscribe. */
  hub?: (() => DurableObjectStub<Hub>) | undefined;
  /** Seals calls that wait for their client; absent if calls cannot wait. */
  vault?: StateVault | undefined;
  /** The principal's tasks; absent if calls cannot become tasks. */
  tasks?: Tasks | undefined;
  /** Origin of the pages on which this caller's user answers; absent if nobody could open them. */
  pages?: string | undefined;
  /** Absent if the server has no sessions. */
  sessions?: SessionDirectory | undefined;
  /** Aborts when the client disconnects before the response. Must be called when a servlet's call begins to wait. */
  leaving(): AbortSignal;
}
