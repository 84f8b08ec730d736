import type { Json, Principal, Share } from "../model.ts";
import type { Registry } from "../servlets/registry.ts";
import type { Accepts } from "./reply.ts";
import type { Sessions } from "./session.ts";
import type { Hub } from "./subscription.ts";
import type { Tasks } from "./tasks.ts";

/** How the server introduces itself. */
export interface Server {
  /** https://modelcontextprotocol.io/specification/2026-07-28/schema#implementation */
  info: Json;
  instructions?: string;
}

/** For how long something is sealed. */
export interface Sealing extends Pick<Share, "keep"> {
  /** Unix time in ms. */
  until: number;
  /** May it be spent, so that it is good for one use? */
  once: boolean;
}

/** Keeps what clients carry, so that only this deployment can read it. */
export interface Vault {
  seal(text: string, how: Sealing): Promise<string>;
  /** Undefined for what is not of this vault, was altered, has expired, or was spent. */
  open(sealed: string): Promise<string | undefined>;
  /** Spends what was sealed with `once`; false where that was done before. */
  spend(sealed: string): Promise<boolean>;
}

/** One POST and what answering it needs. */
export interface Exchange extends Pick<Share, "keep"> {
  server: Server;
  registry: Registry;
  principal: Principal;
  headers: Headers;
  accepts: Accepts;
  /** The principal's hub; absent where nobody can listen. */
  hub?: (() => Hub) | undefined;
  /** Where calls that wait for their client are kept; absent where none can wait. */
  vault?: Vault | undefined;
  /** The principal's tasks; absent where there are none. */
  tasks?: Tasks | undefined;
  /** The principal's sessions; absent where each request is by itself. */
  sessions?: Sessions | undefined;
  /** Aborts when the client has left before it was answered. The platform makes it when it is asked for. */
  leaving(): AbortSignal;
}
