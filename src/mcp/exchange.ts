import type { Fault } from "../errors.ts";
import type { Json, Principal } from "../model.ts";
import type { Registry } from "../servlets/registry.ts";
import type { Accepts } from "./reply.ts";

/** How the server introduces itself. */
export interface Server {
  /** https://modelcontextprotocol.io/specification/2026-07-28/schema#implementation */
  info: Json;
  instructions?: string;
}

/** One POST and what answering it needs. */
export interface Exchange {
  server: Server;
  registry: Registry;
  principal: Principal;
  headers: Headers;
  accepts: Accepts;
  /** Aborts when the client has left before it was answered. The platform makes it when it is asked for. */
  leaving(): AbortSignal;
  /** Logs what the caller must not see of an error, and gives what it may. */
  report(error: unknown): Fault;
}
